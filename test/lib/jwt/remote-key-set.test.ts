/** The keys of an issuer: when they are asked for, how long they are used, and what an answer may be. */
import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type KeyList, keysFor } from '../../../lib/jwt/key-list.js'
import { RemoteKeySet } from '../../../lib/jwt/remote-key-set.js'
import { ServiceUnavailable } from '../../../lib/kernel/errors.js'
import { issuerKey, type KeyServer, serveKeys, testClock } from '../../support/issuer.js'

const [one, two, three] = [issuerKey('one'), issuerKey('two'), issuerKey('three')]
const weak = issuerKey('weak', 'rsa1024')
const ec = issuerKey('ec', 'ec')

let issuer: KeyServer
let clock: ReturnType<typeof testClock>

beforeEach(async () => {
  issuer = await serveKeys(one.jwk)
  clock = testClock()
})

afterEach(async () => {
  await issuer.close()
})

const usual = { maxAgeSeconds: 600, staleSeconds: 3600, cooldownSeconds: 30, timeoutSeconds: 5, maxBytes: 20_000 }

function keySet(options: Partial<typeof usual> & { algorithms?: ('RS256' | 'ES256')[] } = {}): RemoteKeySet {
  const { algorithms = ['RS256', 'ES256'] } = options
  return new RemoteKeySet({ jwksUri: issuer.url, now: clock.now, ...usual, ...options, algorithms })
}

/** Does what a token of this key does: the name of the key that is found for it, or undefined. */
async function ask(set: RemoteKeySet, kid: string): Promise<string | undefined> {
  const since = set.begun
  let list: KeyList | undefined = await set.current()
  while (list) {
    const [key] = keysFor(list, { alg: 'RS256', kid })
    if (key) return key.kid
    list = await set.newerThan(list, since)
  }
  return undefined
}

const hold = (response: ServerResponse) => new Promise<void>((resolve) => response.on('close', resolve))
const away = (_request: unknown, response: ServerResponse) => void response.writeHead(500).end()
const unavailable = expect.objectContaining({ name: 'ServiceUnavailable', status: 503 })

describe('an issuer', () => {
  it('is asked when the first key is needed, once for all who need one', async () => {
    const set = keySet()
    expect(issuer.asked).toBe(0)
    expect(await Promise.all(Array.from({ length: 50 }, () => ask(set, 'one')))).toEqual(Array(50).fill('one'))
    expect(issuer.asked).toBe(1)
    expect(await ask(set, 'one')).toBe('one')
    expect(issuer.asked).toBe(1)
  })

  it('is asked once for an unknown name, whoever else asks, and not again before the cool-down is over', async () => {
    const set = keySet()
    await ask(set, 'one')
    const names = Array.from({ length: 50 }, (_item, index) => `name ${index}`)
    expect(await Promise.all(names.map((name) => ask(set, name)))).toEqual(Array(50).fill(undefined))
    expect(issuer.asked).toBe(2)
    clock.pass(29)
    expect(await ask(set, 'another')).toBeUndefined()
    expect(issuer.asked).toBe(2)
    clock.pass(1)
    expect(await ask(set, 'another')).toBeUndefined()
    expect(issuer.asked).toBe(3)
  })

  it('is not asked twice where the first answer has no such name', async () => {
    const set = keySet()
    expect(await ask(set, 'unknown')).toBeUndefined()
    expect(issuer.asked).toBe(1)
  })

  it('may publish a key and use it at once: all who wait for the answer get it', async () => {
    const set = keySet()
    await ask(set, 'one')
    issuer.keys = [one.jwk, two.jwk]
    expect(await Promise.all(Array.from({ length: 50 }, () => ask(set, 'two')))).toEqual(Array(50).fill('two'))
    expect(issuer.asked).toBe(2)
  })

  it('is asked for a key that was published while an older request was on its way', async () => {
    const set = keySet()
    await ask(set, 'one')
    // half of the age is over: keys are renewed in the background, and this answer is written before the key is there
    clock.pass(300)
    const before = JSON.stringify({ keys: [one.jwk] })
    let release: (() => void) | undefined
    issuer.answer = (_request, response) => {
      release = () => response.end(before)
    }
    expect(await ask(set, 'one')).toBe('one')
    await issuer.askedTimes(2)
    issuer.answer = undefined
    issuer.keys = [one.jwk, two.jwk]
    const found = Promise.all([ask(set, 'two'), ask(set, 'two')])
    release?.()
    expect(await found).toEqual(['two', 'two'])
    expect(issuer.asked).toBe(3)
  })
})

describe('keys', () => {
  it('are renewed in the background from half of their age on, and asked for before use when they are old', async () => {
    const set = keySet()
    await ask(set, 'one')
    clock.pass(299)
    await ask(set, 'one')
    expect(issuer.asked).toBe(1)
    clock.pass(1)
    issuer.keys = [two.jwk]
    expect(await ask(set, 'one')).toBe('one')
    await set.close()
    expect(issuer.asked).toBe(2)
    expect(await ask(set, 'one')).toBeUndefined()
    clock.pass(600)
    issuer.keys = [three.jwk]
    // withdrawn: not used once more
    expect(await ask(set, 'two')).toBeUndefined()
  })

  it('are used while the issuer is away, until they are too old, and asked for at most once in a cool-down', async () => {
    const set = keySet()
    await ask(set, 'one')
    issuer.answer = away
    for (let passed = 0; passed < 4190; passed += 10) {
      clock.pass(10)
      expect(await ask(set, 'one')).toBe('one')
      await set.close()
    }
    expect(issuer.asked).toBeLessThanOrEqual(1 + 3900 / 30 + 1)
    clock.pass(10)
    await expect(ask(set, 'one')).rejects.toThrow(unavailable)
    issuer.answer = undefined
    clock.pass(1)
    expect(await ask(set, 'one')).toBe('one')
  })

  it('answer for unknown names while the issuer is away: they are unknown, not unavailable', async () => {
    const set = keySet()
    await ask(set, 'one')
    issuer.answer = away
    expect(await ask(set, 'two')).toBeUndefined()
    expect(await ask(set, 'one')).toBe('one')
  })

  it('are waited for by nobody who has one while the issuer hangs', async () => {
    const set = keySet()
    await ask(set, 'one')
    clock.pass(300)
    let held: ServerResponse | undefined
    issuer.answer = (_request, response) => {
      held = response
    }
    expect(await ask(set, 'one')).toBe('one')
    await issuer.askedTimes(2)
    expect(await ask(set, 'one')).toBe('one')
    held?.end('{}')
    await set.close()
  })

  it('are asked for again each second where none is held, and the answer says when', async () => {
    const set = keySet()
    issuer.answer = away
    const refused = await ask(set, 'one').catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(ServiceUnavailable)
    expect((refused as ServiceUnavailable).headers).toEqual({ 'Retry-After': '1' })
    expect(String((refused as ServiceUnavailable).cause)).toMatch(/The key set http:.* cannot be used: it answered 500/)
    expect((refused as ServiceUnavailable).detail).toBe('Service temporarily unavailable')
    await expect(ask(set, 'one')).rejects.toThrow(unavailable)
    expect(issuer.asked).toBe(1)
    issuer.answer = undefined
    clock.pass(1)
    expect(await ask(set, 'one')).toBe('one')
  })

  it('that the issuer has all withdrawn are not used', async () => {
    const set = keySet()
    await ask(set, 'one')
    issuer.keys = []
    clock.pass(600)
    await expect(ask(set, 'one')).rejects.toThrow(unavailable)
    issuer.keys = [two.jwk]
    clock.pass(1)
    expect(await ask(set, 'two')).toBe('two')
  })

  it('are asked for anew where the clock was set back', async () => {
    const set = keySet()
    await ask(set, 'one')
    clock.pass(-10_000)
    expect(await ask(set, 'one')).toBe('one')
    expect(issuer.asked).toBe(2)
    issuer.keys = [two.jwk]
    clock.pass(-10_000)
    expect(await ask(set, 'two')).toBe('two')
  })

  it('that cannot be used take no others with them', async () => {
    issuer.keys = [
      null,
      'text',
      7,
      [],
      {},
      { kty: 'AKP', alg: 'ML-DSA-65', pub: 'AAAA', kid: 'quantum' },
      { kty: 'OKP', crv: 'X25519', x: 'AAAA', kid: 'x25519' },
      { ...two.jwk, n: 7 },
      { kty: 'RSA', kid: 'bare' },
      { ...two.jwk, kid: 'enc', use: 'enc' },
      { ...two.jwk, kid: 'ops', key_ops: ['sign'] },
      { ...two.jwk, kid: 'ops', key_ops: 'verify' },
      { ...two.jwk, kid: 'alg', alg: 'RS512' },
      { ...two.jwk, kid: 'private', d: 'AAAA' },
      { kty: 'oct', k: Buffer.alloc(64).toString('base64url'), kid: 'secret' },
      weak.jwk,
      { ...ec.jwk, y: ec.jwk.x },
      { ...one.jwk, alg: 'RS256', use: 'sig', key_ops: ['verify'], x5c: ['?'], more: {} },
    ]
    const { keys } = await keySet().current()
    expect(keys.map(({ kid, algorithm }) => [kid, algorithm])).toEqual([['one', 'RS256']])
  })

  it('RFC 8725 section 3.1: each serves one algorithm', async () => {
    issuer.keys = [one.jwk, { ...two.jwk, alg: 'PS256' }, ec.jwk]
    const set = new RemoteKeySet({
      jwksUri: issuer.url,
      now: clock.now,
      ...usual,
      algorithms: ['RS256', 'PS256', 'ES256'],
    })
    const list = await set.current()
    expect(list.keys.map(({ kid, algorithm }) => [kid, algorithm])).toEqual([
      ['one', 'RS256'],
      ['two', 'PS256'],
      ['ec', 'ES256'],
    ])
    expect(keysFor(list, { alg: 'PS256', kid: 'one' })).toEqual([])
  })

  it('say why none of them is usable', async () => {
    issuer.keys = [{ ...one.jwk, alg: 'RS512' }]
    const refused = (await ask(keySet(), 'one').catch((error: unknown) => error)) as ServiceUnavailable
    expect(String(refused.cause)).toMatch(/has no usable key: a key with the 'alg' 'RS512' fits none of RS256, ES256$/)
  })

  it('are usable with members that are null, and behind a byte order mark', async () => {
    const nulls = { d: null, use: null, key_ops: null, alg: null, crv: null, x5c: null }
    issuer.answer = (_request, response) => {
      response.end(`\ufeff${JSON.stringify({ keys: [{ ...one.jwk, ...nulls }] })}`)
    }
    expect(await ask(keySet(), 'one')).toBe('one')
  })

  it('of one name are all tried, as those without a name, ten at most', async () => {
    const anonymous = { ...three.jwk, kid: undefined }
    issuer.keys = [one.jwk, { ...two.jwk, kid: 'one' }, { ...ec.jwk, kid: 'one' }, anonymous]
    const list = await keySet().current()
    expect(keysFor(list, { alg: 'RS256', kid: 'one' }).map(({ kid }) => kid)).toEqual(['one', 'one'])
    expect(keysFor(list, { alg: 'RS256', kid: 'else' }).map(({ kid }) => kid)).toEqual([undefined])
    expect(keysFor(list, { alg: 'RS256', kid: undefined }).map(({ kid }) => kid)).toEqual(['one', 'one', undefined])
    expect(keysFor(list, { alg: 'ES256', kid: undefined })).toHaveLength(1)
    issuer.keys = Array.from({ length: 100 }, (_item, index) => ({ ...one.jwk, kid: `k${index}` }))
    const many = await keySet({ maxBytes: 100_000 }).current()
    expect(many.keys).toHaveLength(100)
    expect(keysFor(many, { alg: 'RS256', kid: undefined })).toHaveLength(10)
    expect(keysFor(many, { alg: 'RS256', kid: 'k99' })).toHaveLength(1)
  })
})

describe('an answer of the issuer', () => {
  const reasons: [string, (response: ServerResponse) => unknown, RegExp][] = [
    ['an error', (response) => response.writeHead(503).end(), /it answered 503/],
    [
      'a redirect',
      (response) => response.writeHead(302, { Location: '/elsewhere' }).end(),
      /it answered 302; redirects are not followed/,
    ],
    ['nothing', (response) => response.writeHead(204).end(), /it answered 204$/],
    ['a page', (response) => response.end('<!doctype html>'), /is no JSON Web Key Set/],
    ['a list', (response) => response.end('[]'), /is no JSON Web Key Set/],
    ['null', (response) => response.end('null'), /is no JSON Web Key Set/],
    ['keys that are no list', (response) => response.end('{"keys":{"a":1}}'), /is no JSON Web Key Set/],
    ['half of its JSON', (response) => response.end('{"keys":['), /is no JSON Web Key Set/],
    ['101 keys', (response) => response.end(JSON.stringify({ keys: Array(101).fill({}) })), /more than 100 keys/],
    [
      'more than its limit',
      (response) => response.end(JSON.stringify({ keys: [], more: 'x'.repeat(20_000) })),
      /longer than 20000 bytes/,
    ],
    [
      'more than its limit, compressed',
      (response) => {
        response.setHeader('Content-Encoding', 'gzip').end(gzipSync(Buffer.alloc(50_000_000, 0x20)))
      },
      /longer than 20000 bytes/,
    ],
    ['a closed connection', (response) => response.destroy(), /fetch failed/],
    [
      'half an answer',
      (response) => {
        response.writeHead(200, { 'Content-Length': 1000 }).write('{')
        setImmediate(() => response.destroy())
      },
      /terminated|fetch failed/,
    ],
  ]

  it.each(reasons)('that is %s is none', async (_what, write, reason) => {
    const set = keySet()
    issuer.answer = (_request, response) => void write(response)
    const refused = (await ask(set, 'one').catch((error: unknown) => error)) as ServiceUnavailable
    expect(refused).toBeInstanceOf(ServiceUnavailable)
    expect(String(refused.cause)).toMatch(reason)
    expect(issuer.asked).toBe(1)
    // and the keys that are held stay
    issuer.answer = undefined
    clock.pass(1)
    expect(await ask(set, 'one')).toBe('one')
    issuer.answer = (_request, response) => void write(response)
    clock.pass(600)
    expect(await ask(set, 'one')).toBe('one')
  })

  it('that has no end is not waited for, whether it has begun or not', async () => {
    for (const begin of [false, true]) {
      const set = keySet({ timeoutSeconds: 0.2 })
      let gone: Promise<void> | undefined
      issuer.answer = (_request, response) => {
        if (begin) response.write('{"keys":[')
        gone = hold(response)
      }
      const refused = (await ask(set, 'one').catch((error: unknown) => error)) as ServiceUnavailable
      expect(refused).toBeInstanceOf(ServiceUnavailable)
      expect(String(refused.cause)).toMatch(/timeout/)
      await gone
    }
  })

  it('that does not come is one warning, while keys are held', async () => {
    const warnings: string[] = []
    const listen = (warning: Error & { code?: string }) => {
      if (warning.code === 'KOA_VIEWSETS_KEY_SET') warnings.push(warning.message)
    }
    process.on('warning', listen)
    const set = keySet()
    await ask(set, 'one')
    issuer.answer = away
    for (const _round of [1, 2, 3]) {
      clock.pass(600)
      await ask(set, 'one')
      await set.close()
    }
    await new Promise(setImmediate)
    process.off('warning', listen)
    expect(warnings).toEqual([
      `The key set ${issuer.url} cannot be used: it answered 500. The keys that are held are used until they are too old.`,
    ])
  })
})
