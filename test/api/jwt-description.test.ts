/** What the document, `explain()` and the log say of tokens: how to send one, and never a key. */
import { inspect } from 'node:util'
import { APIRouter, HasScope, IsAuthenticated, ViewSet } from 'koa-viewsets'
import { JWTAuthentication } from 'koa-viewsets/jwt'
import { formatExplanations } from 'koa-viewsets/tools'
import { describe, expect, it } from 'vitest'
import { AUDIENCE, ISSUER, testClock, tokenOf } from '../support/issuer.js'
import { surfaces } from '../support/surfaces.js'

const secret = 'a secret that nobody knows, 40 letters..'
const { now } = testClock()
const make = (options: object = {}) =>
  new JWTAuthentication({
    issuer: ISSUER,
    audience: AUDIENCE,
    algorithms: ['HS256'],
    key: secret,
    now,
    ...options,
  })

function apiOf(scheme: JWTAuthentication, permissions: readonly object[]) {
  class Things extends ViewSet {
    static override authenticationClasses = [scheme]
    static override permissionClasses = permissions as never
    list() {
      return []
    }
  }
  return new APIRouter().register('things', Things, 'thing')
}

describe('the OpenAPI document', () => {
  it('[G10] has tokens as a security scheme, and the statuses that they are refused with', () => {
    const document = apiOf(make(), [new HasScope('read:things')]).getSchema() as any
    expect(document.components.securitySchemes).toEqual({
      JWTAuth: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
    })
    const { security, responses } = document.paths['/things'].get
    expect(security).toEqual([{ JWTAuth: [] }])
    expect(Object.keys(responses)).toEqual(expect.arrayContaining(['400', '401', '403', '503']))
  })

  it('[G10] has OpenID Connect discovery where it is configured, with the scopes that are asked for', () => {
    const openIdConnectUrl = 'https://id.test/.well-known/openid-configuration'
    const document = apiOf(make({ openIdConnectUrl }), [IsAuthenticated, new HasScope('a', 'b')]).getSchema() as any
    expect(document.components.securitySchemes).toEqual({
      JWTAuth: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
      OpenIDConnect: { type: 'openIdConnect', openIdConnectUrl },
    })
    expect(document.paths['/things'].get.security).toEqual([{ JWTAuth: [] }, { OpenIDConnect: ['a', 'b'] }])
  })

  it('shows no key', () => {
    const document = apiOf(make(), []).getSchema()
    expect(JSON.stringify(document)).not.toContain(secret)
  })
})

describe('explain()', () => {
  it('names the class among the policies, and shows no key', async () => {
    class ByToken extends JWTAuthentication {
      constructor() {
        super({ issuer: ISSUER, audience: AUDIENCE, algorithms: ['HS256'], key: secret })
      }
    }
    const explanations = await apiOf(new ByToken(), [new HasScope('read:things')]).explain()
    expect(formatExplanations(explanations)).toMatch(/policies +ByToken → HasScope/)
    expect(inspect(explanations, { depth: 9 })).not.toContain(secret)
  })
})

describe('a refusal', () => {
  it('says nothing of token or key, in the answer and in the log', async () => {
    for (const [name, serve] of Object.entries(surfaces)) {
      const client = await serve({ authentication: [make()] })
      const forged = tokenOf(`${secret}!`, { claims: { sub: 'mallory' } })
      const { headers, text } = await client.get('/things', { Authorization: `Bearer ${forged}` })
      const said = `${name} ${JSON.stringify(headers)} ${text} ${inspect(client.reported)}`
      for (const part of [...forged.split('.'), secret, 'mallory', ISSUER, AUDIENCE]) expect(said).not.toContain(part)
      expect(client.reported).toEqual([])
      await client.close()
    }
  })
})
