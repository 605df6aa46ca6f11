/** Serves the documentation page and the OpenAPI document. */
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { runStep } from '../lib/http/answer-error.js'
import { type Middleware, pathOf } from '../lib/http/context.js'
import { answerResource, type DocsOptions, type DocumentSource, docsSite } from '../lib/openapi/docs-site.js'

/**
 * Answers `/docs`, what the page loads, and `/openapi.json`. The page is Swagger UI from this origin, under a strict
 * Content-Security-Policy; its query string means nothing. The document is built once and sent with an `ETag`.
 * Mounted behind `authentication()` and `permissions()` it is for those who pass them. What is wrong with the document is
 * found by the router's `prepare()`, or here where the router is prepared. Where `swagger-ui-dist` is not installed, the page
 * leads to the document and says how to get it.
 * @param source the router, or a document
 * @throws {ConfigurationError} an option is wrong, or a prepared router cannot be described
 * @example app.use(docs(api, { title: 'Books', version: '1.2.0' }))
 */
export function docs(source: DocumentSource, options: DocsOptions = {}): Middleware {
  const folder = pageFolder()
  const site = docsSite(source, options, folder === undefined ? undefined : (name) => readFile(join(folder, name)))
  return async function answerDocs(ctx, next) {
    const load = site.get(pathOf(ctx) ?? '')
    if (!load) return next()
    await runStep(ctx, () => answerResource(ctx, load))
  }
}

/**
 * Where the page's files are, beside the package or the application; undefined where they are not installed. An application that
 * is bundled into one CommonJS file has no `import.meta.url`, and webpack leaves nothing of a `createRequire()` that is imported.
 */
function pageFolder(): string | undefined {
  const url: string | undefined = import.meta.url
  const paths = [...(url === undefined ? [] : [dirname(fileURLToPath(url))]), process.cwd()]
  const { createRequire } = process.getBuiltinModule('node:module')
  const require = createRequire(join(process.cwd(), 'app.js'))
  try {
    return dirname(require.resolve('swagger-ui-dist/package.json', { paths }))
  } catch {
    return undefined
  }
}
