/** Serves the documentation page and the OpenAPI document. */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { runStep } from '../lib/http/answer-error.js'
import { type Middleware, pathOf } from '../lib/http/context.js'
import { ConfigurationError } from '../lib/kernel/errors.js'
import { answerResource, type DocsOptions, type DocumentSource, docsSite } from '../lib/openapi/docs-site.js'

/**
 * Answers `/docs`, what the page loads, and `/openapi.json`. The page is Swagger UI from this origin, under a strict
 * Content-Security-Policy; its query string means nothing. The document is built once and sent with an `ETag`.
 * Mounted behind `authentication()` and `permissions()` it is for those who pass them. What is wrong with the document is
 * found by the router's `prepare()`, or here where the router is prepared.
 * @param source the router, or a document
 * @throws {ConfigurationError} a path is none, a prepared router cannot be described, or `swagger-ui-dist` is not there
 * @example app.use(docs(api, { title: 'Books', version: '1.2.0' }))
 */
export function docs(source: DocumentSource, options: DocsOptions = {}): Middleware {
  const folder = pageFolder()
  const site = docsSite(source, options, (name) => readFile(join(folder, name)))
  return async function answerDocs(ctx, next) {
    const load = site.get(pathOf(ctx) ?? '')
    if (!load) return next()
    await runStep(ctx, () => answerResource(ctx, load))
  }
}

/** Where the page's files are. An application that is bundled into one CommonJS file has no `import.meta.url`. */
function pageFolder(): string {
  const { url }: { readonly url?: string | undefined } = import.meta
  const from = url ?? join(process.cwd(), 'app.js')
  try {
    const require = createRequire(from)
    return dirname(require.resolve('swagger-ui-dist/package.json'))
  } catch (error) {
    throw new ConfigurationError(
      `docs(): swagger-ui-dist, the page, is not found from ${dirname(from)}; install it there, or start the process in a folder that has it`,
      { cause: error },
    )
  }
}
