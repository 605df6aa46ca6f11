/** What the pages of the atlas have in common: head, masthead, footer, and the headers that they are sent with. */
import { randomBytes } from 'node:crypto'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Context } from 'koa-viewsets'
import { registerVersionComponent, templateHelpers } from 'koa-viewsets/assets'

/** The sources of the static files. */
export const PUBLIC_FOLDER = fileURLToPath(new URL('public', import.meta.url))

const { static_url: url, app_version: version } = templateHelpers()

// A new page is a new version of the application, as a new style sheet is.
registerVersionComponent(
  'pages',
  ['page', 'home', 'login'].map((name) => new URL(name + extname(import.meta.url), import.meta.url)),
)

/** The nonce that this response's scripts run by. */
export function nonceOf(ctx: Context): string {
  ctx.state['nonce'] ??= randomBytes(16).toString('base64')
  return ctx.state['nonce'] as string
}

export interface Page {
  readonly title: string
  /** Below the title. */
  readonly subtitle: string
  /** At the right of the title. */
  readonly aside?: string
  readonly main: string
  /** A file of `public` that runs on it. */
  readonly script?: string
}

/** Answers with a page, as HTML that names its files by their hashed names. */
export function showPage(ctx: Context, { title, subtitle, aside = '', main, script }: Page): void {
  const nonce = nonceOf(ctx)
  ctx.set({
    'Cache-Control': 'private, no-cache',
    'Content-Security-Policy': [
      `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'self'; img-src 'self'; connect-src 'self'`,
      `base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
    ].join('; '),
    'X-Content-Type-Options': 'nosniff',
  })
  ctx.type = 'html'
  ctx.body = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${title} · Atlas</title>
    <link rel="icon" href="${url('img/globe.svg')}" type="image/svg+xml">
    <link rel="stylesheet" href="${url('css/atlas.css')}">
    ${script ? `<script nonce="${nonce}" src="${url(script)}" defer></script>` : ''}
  </head>
  <body>
    <header class="masthead">
      <div class="masthead-inner">
        <a href="/"><img src="${url('img/globe.svg')}" alt="Atlas" width="56" height="56"></a>
        <div class="heading">
          <h1>Atlas</h1>
          <p>${subtitle}</p>
        </div>${aside}
      </div>
    </header>
    <main>${main}
    </main>
    <footer>
      <nav class="links" aria-label="API">
        <a href="/api/v1/">API</a><a href="/api/v1/cities">Cities</a><a href="/api/v1/countries">Countries</a><a href="/docs">Documentation</a>${account(ctx)}<a href="/version">Version</a>
      </nav>
      <p>Version <code>${version()}</code> · data from GeoNames (CC BY 4.0) and world-countries</p>
    </footer>
  </body>
</html>
`
}

function account({ session }: Context): string {
  if (!session?.['name']) return '<a href="/login">Log in</a>'
  return `<form method="post" action="/logout"><button>Log ${session['name']} out</button></form>`
}
