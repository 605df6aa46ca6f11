/** The atlas's home page: a shell in HTML, which `public/js/atlas.js` fills from the API. */
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { Context, Middleware } from 'koa-viewsets'
import { registerVersionComponent, templateHelpers } from 'koa-viewsets/assets'

/** The sources of the static files. */
export const PUBLIC_FOLDER = fileURLToPath(new URL('public', import.meta.url))

const { static_url: url, app_version: version } = templateHelpers()

// A new page is a new version of the application, as a new style sheet is.
registerVersionComponent('pages', [new URL(import.meta.url)])

/** The nonce that this response's scripts run by. */
export function nonceOf(ctx: Context): string {
  ctx.state['nonce'] ??= randomBytes(16).toString('base64')
  return ctx.state['nonce'] as string
}

/** Answers `GET /` with the page. */
export function homePage(): Middleware {
  return async function showHomePage(ctx, next) {
    if (ctx.path !== '/' || (ctx.method !== 'GET' && ctx.method !== 'HEAD')) return next()
    const nonce = nonceOf(ctx)
    ctx.set({
      'Cache-Control': 'no-cache',
      'Content-Security-Policy': [
        `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'self'; img-src 'self'; connect-src 'self'`,
        `base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
      ].join('; '),
      'X-Content-Type-Options': 'nosniff',
    })
    ctx.type = 'html'
    ctx.body = page(nonce)
  }
}

function page(nonce: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Atlas · the cities of the world</title>
    <link rel="icon" href="${url('img/globe.svg')}" type="image/svg+xml">
    <link rel="stylesheet" href="${url('css/atlas.css')}">
    <script nonce="${nonce}" src="${url('js/atlas.js')}" defer></script>
  </head>
  <body>
    <header class="masthead">
      <div class="masthead-inner">
        <img src="${url('img/globe.svg')}" alt="" width="56" height="56">
        <div>
          <h1>Atlas</h1>
          <p>The cities of the world, largest first</p>
        </div>
        <form class="search" role="search" action="/">
          <label class="visually-hidden" for="search">Search cities and countries</label>
          <input id="search" name="search" type="search" placeholder="Search cities and countries" maxlength="100" autocomplete="off">
        </form>
      </div>
    </header>
    <main>
      <div class="card" id="cities" aria-busy="true">
        <div class="summary"><strong id="count">&nbsp;</strong><span id="position"></span></div>
        <table>
          <thead>
            <tr><th class="rank">#</th><th>City</th><th>Country</th><th class="number">Inhabitants</th></tr>
          </thead>
          <tbody id="rows"></tbody>
        </table>
        <p class="message" id="message" role="status" hidden></p>
        <nav class="pager" aria-label="Pages">
          <a id="previous" rel="prev" href="/">← Larger</a>
          <a id="next" rel="next" href="/">Smaller →</a>
        </nav>
      </div>
    </main>
    <footer>
      <nav class="links" aria-label="API">
        <a href="/api/v1/">API</a><a href="/api/v1/cities">Cities</a><a href="/api/v1/countries">Countries</a><a href="/docs">Documentation</a><a href="/login">Log in</a><a href="/version">Version</a>
      </nav>
      <p>Version <code>${version()}</code> · data from GeoNames (CC BY 4.0) and world-countries</p>
    </footer>
    <noscript><p class="message">This page fills itself from the <a href="/api/v1/cities">API</a>, with JavaScript.</p></noscript>
  </body>
</html>
`
}
