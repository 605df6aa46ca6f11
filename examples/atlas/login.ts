/** Logging in by a form: the atlas's own session, which the API's SessionAuthentication reads. */
import Router from '@koa/router'
import { FormParser } from 'koa-viewsets'
import { contentNegotiation } from 'koa-viewsets/plugins'
import { findUser } from './users.js'

/** The routes `/login` and `/logout`. */
export function loginRoutes(): Router {
  const router = new Router()
  router.get('/login', (ctx) => {
    ctx.type = 'html'
    ctx.body = page('')
  })
  router.post('/login', contentNegotiation({ parsers: [new FormParser({ limit: 4_096 })] }), (ctx) => {
    const { name, password } = (ctx.request.body ?? {}) as Record<string, unknown>
    const user = findUser(name, password)
    if (user) {
      ctx.session!['userId'] = user.id
      ctx.redirect('/api/v1/lists')
      return
    }
    ctx.status = 401
    ctx.type = 'html'
    ctx.body = page('<p role="alert">Nobody has this name and password.</p>')
  })
  router.post('/logout', (ctx) => {
    ctx.session = null
    ctx.redirect('/login')
  })
  return router
}

function page(message: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Log in · Atlas</title></head>
<body>
<h1>Log in</h1>
${message}
<form method="post" action="/login">
<p><label>Name <input name="name" autocomplete="username" required></label></p>
<p><label>Password <input name="password" type="password" autocomplete="current-password" required></label></p>
<p><button>Log in</button> as alice, bob or staff; the password is the name</p>
</form>
</body>
</html>
`
}
