/** Logging in by a form: the atlas's own session, which the API's SessionAuthentication reads. */
import Router from '@koa/router'
import { type Context, FormParser } from 'koa-viewsets'
import { contentNegotiation } from 'koa-viewsets/plugins'
import { showPage } from './page.js'
import { findUser } from './users.js'

/** The routes `/login` and `/logout`. A login leads back to the page that it was asked for on. */
export function loginRoutes(): Router {
  const router = new Router()
  router.get('/login', (ctx) => showForm(ctx, ctx.query['next'] ?? ctx.get('Referer')))
  router.post('/login', contentNegotiation({ parsers: [new FormParser({ limit: 4_096 })] }), (ctx) => {
    const { name, password, next } = (ctx.request.body ?? {}) as Record<string, unknown>
    const user = findUser(name, password)
    if (user) {
      Object.assign(ctx.session, { userId: user.id, name: user.name })
      ctx.redirect(pathWithin(ctx, next))
      return
    }
    ctx.status = 401
    showForm(ctx, next, 'Nobody has this name and password.')
  })
  router.post('/logout', (ctx) => {
    ctx.session = null
    ctx.redirect(pathWithin(ctx, ctx.get('Referer')))
  })
  return router
}

/** The path of an address of this site; `/` in place of any other, so that no link can send who logs in elsewhere. */
function pathWithin({ URL: here }: Pick<Context, 'URL'>, address: unknown): string {
  if (typeof address !== 'string' || !URL.canParse(address, here.href)) return '/'
  const { origin, pathname, search } = new URL(address, here)
  return origin === here.origin && pathname !== here.pathname && !pathname.startsWith('//') ? pathname + search : '/'
}

function showForm(ctx: Context, next: unknown, message?: string): void {
  showPage(ctx, {
    title: 'Log in',
    subtitle: 'Log in, to keep lists of cities',
    main: `
      <form class="card login" method="post" action="/login">
        ${message ? `<p class="wrong" role="alert">${message}</p>` : ''}
        <input type="hidden" name="next" value="${escaped(pathWithin(ctx, next))}">
        <label>Name <input name="name" autocomplete="username" autocapitalize="none" required autofocus></label>
        <label>Password <input name="password" type="password" autocomplete="current-password" required></label>
        <button>Log in</button>
        <p>As alice, bob or staff; the password is the name.</p>
      </form>`,
  })
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
}
