import { Readable } from 'node:stream'
import type { Context } from 'koa'
import { describe, expect, it } from 'vitest'
import { prefer } from '../../plugins/index.js'
import { serveApp } from '../support/client.js'

const created = (ctx: Context) => {
  ctx.status = 201
  ctx.set('Location', '/notes/1')
  ctx.body = { id: 1 }
}
const changed = (ctx: Context) => {
  ctx.body = { id: 1 }
}
const minimal = { Prefer: 'return=minimal' }

describe('prefer() before a hand-written route', () => {
  it.each([
    ['POST', created, 201],
    ['PATCH', changed, 204],
  ])('leaves out what %s has written', async (method, handler, expected) => {
    const { send } = await serveApp(prefer(), handler)
    const { status, text, headers } = await send(method, '/notes', { text: 'a' }, minimal)
    expect([status, text]).toEqual([expected, ''])
    expect(headers).toMatchObject({ vary: 'Prefer', 'preference-applied': 'return=minimal' })
    expect(headers).not.toHaveProperty('content-type')
    expect(headers['location']).toBe(expected === 201 ? '/notes/1' : undefined)
  })

  it('shows it to who prefers that, and says so', async () => {
    const { send } = await serveApp(prefer(), created)
    const { status, json, headers } = await send('POST', '/notes', {}, { Prefer: 'return=representation' })
    expect([status, json, headers['preference-applied']]).toEqual([201, { id: 1 }, 'return=representation'])
  })

  it.each([
    ['GET', changed, minimal],
    ['QUERY', changed, minimal],
    ['POST', created, {}],
    ['POST', created, { Prefer: 'return=most' }],
    ['POST', created, { Prefer: `return=minimal, x="${'y'.repeat(1_100)}"` }],
  ])('answers %s as ever where nothing else is preferred', async (method, handler, headers) => {
    const { send } = await serveApp(prefer(), handler)
    const answer = await send(method, '/notes', method === 'GET' ? undefined : {}, headers)
    expect(answer.json).toEqual({ id: 1 })
    expect(answer.headers).not.toHaveProperty('preference-applied')
  })

  it('leaves redirects, empty answers, streams and what is neither done nor made as they are', async () => {
    const answers: [(ctx: Context) => void, number, string][] = [
      [(ctx) => Object.assign(ctx, { status: 303, body: 'see' }), 303, 'see'],
      [(ctx) => ctx.redirect('/elsewhere'), 302, expect.stringContaining('elsewhere')],
      [(ctx) => Object.assign(ctx, { status: 202, body: null }), 204, ''],
      [(ctx) => Object.assign(ctx, { status: 202, body: 'to come' }), 202, 'to come'],
      [(ctx) => Object.assign(ctx, { status: 207, body: 'several' }), 207, 'several'],
      [(ctx) => Object.assign(ctx, { body: Readable.from(['a']) }), 200, 'a'],
    ]
    for (const [handler, status, text] of answers) {
      const { send } = await serveApp(prefer(), handler)
      const answer = await send('POST', '/notes', {}, minimal)
      expect([answer.status, answer.text]).toEqual([status, text])
      expect(answer.headers).not.toHaveProperty('preference-applied')
    }
  })

  it('tells the handler what is preferred', async () => {
    const { send } = await serveApp(prefer(), (ctx) => {
      ctx.body = ctx.state['preferences']
    })
    const strict = { Prefer: 'handling=strict' }
    expect((await send('POST', '/', {}, strict)).json).toEqual({ strict: true })
    expect((await send('POST', '/', {}, {})).json).toEqual({ strict: false })
  })
})
