/** Options that make no sense are refused when the class is set up, and no message shows a key. */
import { createSecretKey, generateKeyPairSync } from 'node:crypto'
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { JWTAuthentication, type JWTAuthenticationOptions } from '../../../lib/jwt/index.js'
import { issuerKey } from '../../support/issuer.js'

const rsa = issuerKey('r')
const weak = issuerKey('w', 'rsa1024')
const ec = issuerKey('e', 'ec')
const edwards = issuerKey('o', 'ed25519')
const pem = rsa.publicKey.export({ type: 'spki', format: 'pem' }) as string
const privatePem = rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
const secret = 'a secret that nobody knows, 40 letters..'

const base = { issuer: 'https://id.test', audience: 'https://api.test' }
const remote = { ...base, algorithms: ['RS256'], jwksUri: 'https://id.test/keys' }
const make = (options: unknown) => new JWTAuthentication(options as JWTAuthenticationOptions)

describe('options that make sense', () => {
  it.each<[string, object]>([
    ['an address of keys', remote],
    [
      'several issuers, audiences and algorithms',
      { ...remote, issuer: ['a', 'b'], audience: ['c'], algorithms: ['RS256', 'ES256', 'EdDSA', 'PS512'] },
    ],
    [
      'all of the key set',
      {
        ...remote,
        keySet: { maxAgeSeconds: 1, staleSeconds: 0, cooldownSeconds: 1, timeoutSeconds: 0.1, maxBytes: 1 },
      },
    ],
    ['http on this host', { ...remote, jwksUri: 'http://localhost:8080/keys' }],
    ['http on this host by IPv6', { ...remote, jwksUri: 'http://[::1]/keys' }],
    ['http elsewhere, if it is said so', { ...remote, jwksUri: 'http://keycloak:8080/keys', allowHttp: true }],
    ['PEM', { ...base, algorithms: ['RS256'], key: pem }],
    ['PEM as bytes, with a line before', { ...base, algorithms: ['PS256'], key: Buffer.from(`\n${pem}`) }],
    ['a KeyObject', { ...base, algorithms: ['ES256'], key: ec.publicKey }],
    ['a JWK', { ...base, algorithms: ['EdDSA'], key: edwards.jwk }],
    [
      'a JWK that names one of several algorithms',
      { ...base, algorithms: ['RS256', 'PS256'], key: [pem, { ...rsa.jwk, alg: 'PS256' }] },
    ],
    ['a secret', { ...base, algorithms: ['HS256'], key: secret }],
    ['a secret as bytes', { ...base, algorithms: ['HS512'], key: new Uint8Array(64).fill(7) }],
    ['a secret as a KeyObject', { ...base, algorithms: ['HS256'], key: createSecretKey(Buffer.from(secret)) }],
    [
      'a secret as a JWK',
      { ...base, algorithms: ['HS256'], key: { kty: 'oct', k: Buffer.from(secret).toString('base64url') } },
    ],
    [
      'two secrets, while one takes the place of the other',
      { ...base, algorithms: ['HS256'], key: [secret, `${secret}2`] },
    ],
    ['undefined for what is left out', { ...remote, key: undefined, typ: undefined, getUser: undefined }],
  ])('%s', (_what, options) => {
    expect(make(options)).toBeInstanceOf(JWTAuthentication)
  })

  it('are kept where nobody sees them', () => {
    const shown = inspect(make({ ...base, algorithms: ['HS256'], key: secret }), { depth: 9, showHidden: true })
    expect(shown).not.toContain(secret)
    expect(JSON.stringify(make({ ...base, algorithms: ['HS256'], key: secret }))).not.toContain(secret)
  })
})

describe('options that make none', () => {
  it.each<[string, unknown, RegExp]>([
    ['none', undefined, /has no options/],
    ['no algorithms', { ...remote, algorithms: undefined }, /algorithms are missing/],
    ['an empty list of algorithms', { ...remote, algorithms: [] }, /algorithms are missing/],
    ['the algorithm none', { ...remote, algorithms: ['none'] }, /algorithms has "none"; take some of HS256/],
    ['the algorithm None', { ...remote, algorithms: ['RS256', 'None'] }, /algorithms has "None"/],
    ['a name of Object', { ...remote, algorithms: ['constructor'] }, /algorithms has "constructor"/],
    ['an algorithm as a text', { ...remote, algorithms: 'RS256' }, /algorithms is "RS256"; give a list of names/],
    ['secrets and public keys', { ...base, algorithms: ['RS256', 'HS256'], key: pem }, /take secrets and public keys/],
    ['no issuer', { ...remote, issuer: undefined }, /issuer is missing/],
    ['an empty issuer', { ...remote, issuer: '' }, /issuer is ""/],
    ['no audience', { ...remote, audience: [] }, /audience is missing/],
    ['neither keys nor their address', { ...remote, jwksUri: undefined }, /give jwksUri, or key, and not both/],
    ['keys and their address', { ...remote, key: pem }, /give jwksUri, or key, and not both/],
    ['an address that is a path', { ...remote, jwksUri: '/keys' }, /jwksUri is "\/keys"/],
    ['an address of files', { ...remote, jwksUri: 'file:///etc/passwd' }, /jwksUri is "file:/],
    ['http elsewhere', { ...remote, jwksUri: 'http://id.test/keys' }, /give https, or allowHttp: true/],
    ['http on a host that begins alike', { ...remote, jwksUri: 'http://localhost.evil.test/' }, /give https/],
    ['a password in the address', { ...remote, jwksUri: 'https://me:hunter2@id.test/' }, /has a user or a password/],
    ['a secret algorithm of a published key', { ...remote, algorithms: ['HS256'] }, /takes a secret; give it as key/],
    ['no list of keys', { ...base, algorithms: ['RS256'], key: [] }, /key is an empty list/],
    ['a number for a key', { ...base, algorithms: ['RS256'], key: 7 }, /give a text, bytes, a KeyObject or a JWK/],
    ['null for a key', { ...base, algorithms: ['RS256'], key: null }, /give a text, bytes, a KeyObject or a JWK/],
    ['a private key', { ...base, algorithms: ['RS256'], key: privatePem }, /it is private/],
    ['a private KeyObject', { ...base, algorithms: ['RS256'], key: rsa.privateKey }, /it is private/],
    [
      'a private JWK',
      { ...base, algorithms: ['RS256'], key: rsa.privateKey.export({ format: 'jwk' }) },
      /it is private/,
    ],
    ['broken PEM', { ...base, algorithms: ['RS256'], key: pem.replace('A', '!') }, /no key that can be read/],
    ['a JWK without its numbers', { ...base, algorithms: ['RS256'], key: { kty: 'RSA' } }, /no key that can be read/],
    [
      'a text where a public key belongs',
      { ...base, algorithms: ['RS256'], key: secret },
      /a secret fits none of RS256/,
    ],
    ['a public key of another kind', { ...base, algorithms: ['RS256'], key: ec.jwk }, /of the kind EC P-256 fits none/],
    [
      'a key that says to be of another algorithm',
      { ...base, algorithms: ['RS256'], key: { ...rsa.jwk, alg: 'RS512' } },
      /with the "alg" "RS512"/,
    ],
    ['a key for encryption', { ...base, algorithms: ['RS256'], key: { ...rsa.jwk, use: 'enc' } }, /"use" is not "sig"/],
    [
      'a key that only signs',
      { ...base, algorithms: ['RS256'], key: { ...rsa.jwk, key_ops: ['sign'] } },
      /no "verify"/,
    ],
    ['an algorithm that no key is for', { ...base, algorithms: ['RS256', 'PS256'], key: pem }, /no key is for PS256/],
    ['a nested list of the key set', { ...remote, keySet: { maxAge: 5 } }, /has no option "maxAge"/],
    ['a time of 0', { ...remote, keySet: { timeoutSeconds: 0 } }, /timeoutSeconds is 0/],
    ['a time without end', { ...remote, keySet: { timeoutSeconds: Number.POSITIVE_INFINITY } }, /timeoutSeconds is/],
    [
      'a clock that may be wrong by an hour',
      { ...remote, clockTolerance: 3600 },
      /clockTolerance is 3600; give seconds, at most 300/,
    ],
    ['a negative tolerance', { ...remote, clockTolerance: -1 }, /clockTolerance is -1/],
    ['an unknown option', { ...remote, audiences: ['x'] }, /has no option "audiences"; did you mean "audience"/],
    ['a secret as jsonwebtoken has it', { ...remote, secret }, /has no option "secret"/],
    ['a wrong discovery document', { ...remote, openIdConnectUrl: 'id.test' }, /openIdConnectUrl is "id.test"/],
  ])('%s is refused', (_what, options, message) => {
    expect(() => make(options)).toThrow(
      expect.objectContaining({ name: 'ConfigurationError', message: expect.stringMatching(message) }),
    )
  })

  it.each([
    ['HS256', 31],
    ['HS384', 47],
    ['HS512', 63],
  ])('RFC 8725 section 3.5: a secret for %s of %i bytes is refused, and not shown', (algorithm, bytes) => {
    const key = 'k'.repeat(bytes)
    const refused = expect.objectContaining({
      name: 'ConfigurationError',
      message: expect.stringMatching(new RegExp(`a secret of ${bytes} bytes; ${algorithm} takes ${bytes + 1}`)),
    })
    expect(() => make({ ...base, algorithms: [algorithm], key })).toThrow(refused)
    try {
      make({ ...base, algorithms: [algorithm], key })
    } catch (error) {
      expect(inspect(error)).not.toContain(key)
    }
    expect(make({ ...base, algorithms: [algorithm], key: `${key}k` })).toBeInstanceOf(JWTAuthentication)
  })

  it('RFC 8725 section 3.5: an RSA key of 1024 bits is refused, as one with the exponent 1', () => {
    const options = { ...base, algorithms: ['RS256'] }
    expect(() => make({ ...options, key: weak.jwk })).toThrow(/an RSA key of 1024 bits; RS256 takes 2048/)
    expect(() => make({ ...options, key: { ...rsa.jwk, e: 'AQ' } })).toThrow(/exponent 1|no key that can be read/)
  })

  it('RFC 8725 section 3.4: a point that is not on the curve is refused', () => {
    const key = { ...ec.jwk, y: ec.jwk.x }
    expect(() => make({ ...base, algorithms: ['ES256'], key })).toThrow(/no key that can be read/)
  })

  it('RFC 8725 section 2.1: a public key is no secret', () => {
    for (const key of [pem, Buffer.from(pem), rsa.publicKey, rsa.jwk]) {
      expect(() => make({ ...base, algorithms: ['HS256'], key })).toThrow(/fits none of HS256/)
    }
  })

  it('a key pair of RSA-PSS is refused, as jose does not take it', () => {
    const { publicKey } = generateKeyPairSync('rsa-pss', { modulusLength: 2048 })
    expect(() => make({ ...base, algorithms: ['PS256'], key: publicKey })).toThrow(/cannot be used/)
  })

  it('a subclass is named in the message', () => {
    class ByToken extends JWTAuthentication {}
    expect(() => new ByToken({ ...base, algorithms: ['HS256'], key: 'short' })).toThrow(/^ByToken: key cannot be used/)
  })
})
