/** Static files under hashed names, and the application's version: `koa-viewsets/assets`. */
export { type AppVersion, describeAppVersion, getAppVersion, refreshAppVersion } from './app-version.js'
export { CacheBustChannel } from './cache-bust-channel.js'
export { CollectError, type Collected, type CollectOptions, collectStatic } from './collect-static.js'
export type { Manifest } from './manifest.js'
export { UnknownAppVersion } from './route-version.js'
export { staticPath, staticUrl, type TemplateHelpers, templateHelpers } from './template-helpers.js'
export { registerVersionComponent } from './version-components.js'
export type { VersionRoutes } from './version-routes.js'
