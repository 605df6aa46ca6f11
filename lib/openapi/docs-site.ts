/** The documentation page and what it loads, all of it from here (promise G8). */

import { posix } from 'node:path'
import { acceptsMethod } from '../assets/own-route.js'
import { addETag, contentDigest, weakTag } from '../caching/cache-response.js'
import type { Context } from '../http/context.js'
import { ConfigurationError, ServiceUnavailable } from '../kernel/errors.js'
import { checkKinds } from '../kernel/option-kinds.js'
import { isRecord } from '../kernel/records.js'
import { inTurns, type Steps } from '../kernel/turns.js'
import { SCHEMA_KINDS, type SchemaOptions } from './document.js'

/** An API that describes itself, or a document that is there already. */
export type DocumentSource = DescribedAPI | { readonly openapi: string }

/** As far as its description goes, an `APIRouter`. */
export interface DescribedAPI {
  prepare(): Promise<void>
  getSchema(options: SchemaOptions): object
  /** Builds the document at the start, before anyone asks for it, and finds what is wrong with it. */
  servedSchema?(options: SchemaOptions): { document?: object }
}

export interface DocsOptions extends SchemaOptions {
  /** The path of the page. @default '/docs' */
  readonly path?: string
  /** The path of the document. @default '/openapi.json' */
  readonly schemaPath?: string
}

/** Reads a file of the page's, by name. */
export type ReadAsset = (name: string) => Promise<Buffer>

/** What is sent for a path: made at the first request and kept. */
export interface SiteFile {
  readonly body: Buffer
  readonly type: string
  readonly tag: string
  /** What the browser may do with it. */
  readonly policy: string | undefined
}

/** Finds what a path stands for. */
export type DocsSite = ReadonlyMap<string, () => Promise<SiteFile>>

const ASSETS: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
}
/** The column of links, of which our documents have none, pushes answers off a phone. */
const NARROW = Buffer.from('\n@media (max-width: 640px) { .swagger-ui .response-col_links { display: none } }\n')
const START = 'start.js'
const HTML = 'text/html; charset=utf-8'
const SCRIPT = 'text/javascript; charset=utf-8'
const JSON_TYPE = 'application/json; charset=utf-8'

/** Nothing from elsewhere, nothing inline, no frames around it. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Starts the page, in the colours that the system has. It reads nothing of its own address, and asks no validator elsewhere. */
const START_SCRIPT = `const dark = matchMedia('(prefers-color-scheme: dark)')
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', follow)
follow()
SwaggerUIBundle({
  url: document.getElementById('swagger-ui').dataset.schema,
  dom_id: '#swagger-ui',
  presets: [SwaggerUIBundle.presets.apis],
  layout: 'BaseLayout',
  deepLinking: true,
  queryConfigEnabled: false,
  persistAuthorization: false,
  validatorUrl: null,
})
`

/**
 * @param readAsset undefined where the page's files are not installed
 * @throws {ConfigurationError} an option is wrong, both paths are the same, or the source is prepared and cannot be described
 */
export function docsSite(source: DocumentSource, options: DocsOptions, readAsset: ReadAsset | undefined): DocsSite {
  checkKinds('docs()', options, { kinds: { ...SCHEMA_KINDS, path: 'any', schemaPath: 'any' } })
  if (!isSource(source)) throw new ConfigurationError('docs(): give the router that is mounted, or a document')
  const { path = '/docs', schemaPath = '/openapi.json', ...info } = options
  for (const [name, value] of Object.entries({ path, schemaPath })) {
    if (PATH.test(value)) continue
    throw new ConfigurationError(
      `docs(): ${name} is ${JSON.stringify(value)}; write it as "/docs", without a slash at the end`,
    )
  }
  if (schemaPath === path || schemaPath.startsWith(`${path}/`)) {
    throw new ConfigurationError('docs(): schemaPath lies in the folder of the page; give it a path of its own')
  }
  const served = 'servedSchema' in source ? (source.servedSchema?.(info) ?? {}) : {}
  const write = readAsset ? writePage : writeNotice
  const page = (from: string) => once(async () => resource(write(from, path, schemaPath, info.title), HTML, POLICY))
  const site = new Map([
    [path, page(posix.dirname(path))],
    [`${path}/`, page(path)],
    [schemaPath, once(async () => resource(await writeDocument(source, info, served), JSON_TYPE))],
  ])
  if (!readAsset) return site
  for (const [name, type] of Object.entries(ASSETS))
    site.set(
      `${path}/${name}`,
      once(async () =>
        resource(name.endsWith('.css') ? Buffer.concat([await readAsset(name), NARROW]) : await readAsset(name), type),
      ),
    )
  return site.set(
    `${path}/${START}`,
    once(async () => resource(START_SCRIPT, SCRIPT)),
  )
}

function isSource(given: unknown): boolean {
  return isRecord(given) && ('getSchema' in given || typeof given['openapi'] === 'string')
}

const PATH = /^(?:\/[\w.~-]+)+$/

/** Sends the page, or 304 where the client has it. @throws MethodNotAllowed for anything but GET, HEAD and OPTIONS */
export async function answerResource(ctx: Context, load: () => Promise<SiteFile>): Promise<void> {
  if (!acceptsMethod(ctx, ['GET', 'HEAD'])) return
  const { body, type, tag, policy } = await load()
  ctx.status = 200
  // it may stand behind authentication
  ctx.set('Cache-Control', 'private, no-cache')
  ctx.set('Content-Type', type)
  ctx.set('X-Content-Type-Options', 'nosniff')
  ctx.set('ETag', tag)
  if (policy !== undefined) {
    ctx.set('Content-Security-Policy', policy)
    ctx.set('Referrer-Policy', 'no-referrer')
  }
  ctx.body = body
  addETag(ctx)
}

async function writeDocument(
  source: DocumentSource,
  info: SchemaOptions,
  served: { document?: object },
): Promise<string> {
  if (!('getSchema' in source)) return JSON.stringify(source)
  try {
    await source.prepare()
  } catch (error) {
    throw new ServiceUnavailable(5, { cause: error })
  }
  const text = await inTurns(jsonSteps(served.document ?? source.getSchema(info)))
  // the text is kept
  delete served.document
  return text
}

/** The JSON of an object of objects, a few of their members at a time. */
function* jsonSteps(value: object, depth = 2): Steps<string> {
  const parts: string[] = []
  for (const [name, member] of Object.entries(value) as [string, unknown][]) {
    const isDeep = depth > 0 && isRecord(member)
    const json: string | undefined = isDeep ? yield* jsonSteps(member, depth - 1) : JSON.stringify(member)
    if (json !== undefined) parts.push(`${JSON.stringify(name)}:${json}`)
    yield undefined
  }
  return `{${parts.join(',')}}`
}

function resource(content: string | Buffer, type: string, policy?: string): SiteFile {
  const body = typeof content === 'string' ? Buffer.from(content) : content
  return { body, type, tag: weakTag(contentDigest(body)), policy }
}

/** Made once; a failure is tried again. */
function once(make: () => Promise<SiteFile>): () => Promise<SiteFile> {
  let made: Promise<SiteFile> | undefined
  return async () => {
    made ??= make()
    try {
      return await made
    } catch (error) {
      made = undefined
      throw error
    }
  }
}

/** The page, with links that hold wherever it is mounted. `from` is the folder that a browser resolves them in. */
function writePage(from: string, path: string, schemaPath: string, title = 'API'): string {
  const link = (to: string) => escapeHtml(posix.relative(from, to))
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
<link rel="icon" type="image/png" href="${link(`${path}/favicon-32x32.png`)}">
<link rel="stylesheet" href="${link(`${path}/swagger-ui.css`)}">
</head>
<body>
<div id="swagger-ui" data-schema="${link(schemaPath)}"></div>
<noscript>This page needs JavaScript. The description of the API is at <a href="${link(schemaPath)}">${link(schemaPath)}</a>.</noscript>
<script src="${link(`${path}/swagger-ui-bundle.js`)}"></script>
<script src="${link(`${path}/${START}`)}"></script>
</body>
</html>
`
}

/** What stands in the place of the page where its files are not installed. */
function writeNotice(from: string, _path: string, schemaPath: string, title = 'API'): string {
  const link = escapeHtml(posix.relative(from, schemaPath))
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
</head>
<body>
<h1>${escapeHtml(title)}</h1>
<p>The description of this API is at <a href="${link}">${link}</a>.</p>
<p>To read it here, as a page to try requests on, install Swagger UI beside the application, and start it again: <code>npm install swagger-ui-dist</code></p>
</body>
</html>
`
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
