/** Heeds `Prefer` on hand-written routes. */
import { isSafeMethod, type Middleware } from '../lib/http/context.js'
import { type Preferences, preferencesOf } from '../lib/http/prefer.js'
import { isStreamed } from '../lib/http/response-body.js'

/**
 * Reads `Prefer` (RFC 7240) into `ctx.state.preferences`: `{ returns: 'minimal' | 'representation' | undefined, strict: boolean }`.
 * What a write behind it answers with a 200 or 201 is left out where the client prefers `return=minimal`: a 201 keeps its
 * headers, any other is 204. `strict` (`handling=strict`) is for the handler to heed. A header that is malformed or longer
 * than 1,024 characters says nothing. See docs/reference/wire-format.md, section 15.
 * @example router.post('/notes', prefer(), async (ctx) => { ctx.status = 201; ctx.body = await Note.query().insert(ctx.request.body) })
 */
export function prefer(): Middleware {
  return async function heedPreferences(ctx, next) {
    const preferences: Preferences = preferencesOf(ctx)
    ctx.state['preferences'] = preferences
    await next()
    const { returns } = preferences
    const { status, body } = ctx
    if (!returns || isSafeMethod(ctx.method) || ctx.headerSent || ctx.respond === false) return
    if (!(status === 200 || status === 201) || body === null || body === undefined || isStreamed(body)) return
    ctx.vary('Prefer')
    ctx.append('Preference-Applied', `return=${returns}`)
    if (returns === 'representation') return
    // else Koa writes the JSON of null
    ctx.remove('Content-Type')
    ctx.body = null
    if (status === 201) ctx.status = status
  }
}
