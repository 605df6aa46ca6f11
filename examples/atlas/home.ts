/** The atlas's home page: a shell in HTML, which `public/js/atlas.js` fills from the API. */
import type { Middleware } from 'koa-viewsets'
import { showPage } from './page.js'

/** Answers `GET /` with the page. */
export function homePage(): Middleware {
  return async function showHomePage(ctx, next) {
    if (ctx.path !== '/' || (ctx.method !== 'GET' && ctx.method !== 'HEAD')) return next()
    showPage(ctx, {
      title: 'The cities of the world',
      subtitle: 'The cities of the world, largest first',
      aside: SEARCH,
      main: CITIES,
      script: 'js/atlas.js',
    })
  }
}

const SEARCH = `
        <form class="search" role="search" action="/">
          <label class="visually-hidden" for="search">Search cities and countries</label>
          <input id="search" name="search" type="search" placeholder="Search cities and countries" maxlength="100" autocomplete="off">
        </form>`

const CITIES = `
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
      <noscript><p class="message">This page fills itself from the <a href="/api/v1/cities">API</a>, with JavaScript.</p></noscript>`
