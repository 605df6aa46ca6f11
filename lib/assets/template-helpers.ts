/** Template helpers: URLs of static files, and the version. */
import { getAppVersion } from './app-version.js'
import { currentStaticFiles } from './static-files.js'

/** The globals of a template engine. */
export interface TemplateHelpers {
  /** `staticPath()` */
  readonly static: (name: string) => string
  /** `staticUrl()` */
  readonly static_url: (name: string) => string
  /** `getAppVersion()` */
  readonly app_version: () => string
}

/**
 * The URL of a static file: under its hashed name where `collectstatic` has made a manifest, as it is otherwise. It needs
 * no escaping in HTML and always stays under the static prefix. A `#fragment` stays.
 * @example staticPath('css/app.css') // '/static/css/app.909e52614e00.css'
 */
export function staticPath(name: string): string {
  return currentStaticFiles().url(name)
}

/**
 * Like `staticPath()`; in development, without a manifest, it ends in `?v=` and the hash of the file as it is now, unless
 * the setting `staticDevVersionQuery` is false.
 * @example staticUrl('js/app.min.js') // '/static/js/app.min.js?v=3879a5d930ae'
 */
export function staticUrl(name: string): string {
  return currentStaticFiles().versionedUrl(name)
}

/**
 * The helpers as globals of a template engine.
 * @example for (const [name, helper] of Object.entries(templateHelpers())) environment.addGlobal(name, helper)
 */
export function templateHelpers(): TemplateHelpers {
  return { static: staticPath, static_url: staticUrl, app_version: getAppVersion }
}
