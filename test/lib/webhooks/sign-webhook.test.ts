/** Signatures of webhooks, as the package of Standard Webhooks verifies them, and secrets. */
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { ConfigurationError } from '../../../lib/kernel/errors.js'
import { createSecret, signWebhook } from '../../../lib/webhooks/sign-webhook.js'

const now = () => Math.floor(Date.now() / 1000)
const secret = createSecret()
const usual = { id: 'msg_1', timestamp: 1_674_087_231, body: '{}', secrets: [secret] }
const base64 = (bytes: number) => Buffer.alloc(bytes, 7).toString('base64')

describe('a signed webhook', () => {
  it.each([
    ['an object', '{"type":"book.created","data":{"id":1}}'],
    ['characters of all sizes', '{"title":"Ünïcode 漢字 🎉"}'],
    ['a hundred kilobytes', JSON.stringify('x'.repeat(100_000))],
  ])('is verified by its receiver: %s', (_, body) => {
    const headers = signWebhook({ id: 'msg_1', timestamp: now(), body, secrets: [secret] })
    expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body))
  })

  it.each([
    ['the body', { body: '{ }' }],
    ['the id', { id: 'msg_2' }],
    ['the timestamp', { timestamp: now() - 1 }],
    ['the secret', { secrets: [createSecret()] }],
  ])('is refused by its receiver where %s is another', (_, other) => {
    const mine = { id: 'msg_1', timestamp: now(), body: '{}', secrets: [secret] }
    const { 'webhook-signature': signature } = signWebhook({ ...mine, ...other })
    const headers = { ...signWebhook(mine), 'webhook-signature': String(signature) }
    expect(() => new Webhook(secret).verify(mine.body, headers)).toThrow('No matching signature found')
  })

  it('has the signature of each secret while one is replaced', () => {
    const secrets = [createSecret(), secret]
    const headers = signWebhook({ id: 'msg_1', timestamp: now(), body: '{}', secrets })
    for (const one of secrets) expect(new Webhook(one).verify('{}', headers)).toEqual({})
    expect(headers['webhook-signature']).toMatch(/^v1,\S{44} v1,\S{44}$/)
  })

  it('has the headers of the specification', () => {
    const headers = signWebhook({ ...usual, secrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'] })
    // computed by the package `standardwebhooks`
    const expected = new Webhook('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw').sign(
      'msg_1',
      new Date(1_674_087_231_000),
      '{}',
    )
    expect(headers).toEqual({
      'webhook-id': 'msg_1',
      'webhook-timestamp': '1674087231',
      'webhook-signature': expected,
    })
  })

  it.each(['', 'msg.1', 'msg 1', 'msg\r\nhost: x', 'mség'])('has no id like %j', (id) => {
    expect(() => signWebhook({ ...usual, id })).toThrow(ConfigurationError)
  })

  it.each([1.5, -1, Number.NaN, 1e300])('has no timestamp like %d', (timestamp) => {
    expect(() => signWebhook({ ...usual, timestamp })).toThrow(ConfigurationError)
  })
})

describe('a secret', () => {
  it('is made of 32 random bytes', () => {
    const made = Array.from({ length: 100 }, createSecret)
    expect(new Set(made).size).toBe(100)
    expect(made.filter((one) => !/^whsec_[A-Za-z0-9+/]{43}=$/.test(one))).toEqual([])
  })

  it.each([24, 64])('may have %d bytes', (bytes) => {
    expect(signWebhook({ ...usual, secrets: [`whsec_${base64(bytes)}`] })['webhook-signature']).toMatch(/^v1,/)
  })

  it.each([
    ['no prefix', base64(32)],
    ['another prefix', `whsk_${base64(32)}`],
    ['too few bytes', `whsec_${base64(23)}`],
    ['too many bytes', `whsec_${base64(65)}`],
    ['no padding', `whsec_${base64(32).replace('=', '')}`],
    ['another alphabet', `whsec_${Buffer.alloc(30, 255).toString('base64url')}`],
    ['more behind it', `whsec_${base64(32)}\n`],
    ['nothing', ''],
  ])('is malformed with %s, and not shown', (_, wrong) => {
    const sign = () => signWebhook({ ...usual, secrets: [secret, wrong] })
    expect(sign).toThrow(ConfigurationError)
    expect(sign).toThrow(
      /^webhook: a secret is not whsec_ and the base64 of 24 to 64 bytes, as createSecret\(\) makes it$/,
    )
  })

  it('is needed', () => {
    expect(() => signWebhook({ ...usual, secrets: [] })).toThrow(ConfigurationError)
  })
})
