/** To which URLs and addresses webhooks may go. */
import { describe, expect, it } from 'vitest'
import { ConfigurationError } from '../../../lib/kernel/errors.js'
import { addressesOf, receiverProblem } from '../../../lib/webhooks/receiver.js'

const NOT_PUBLIC = 'the host has an address that is not public'

describe('the URL of a receiver', () => {
  it.each([
    'https://example.com/hook',
    'https://example.com:8443/a?b=c#d',
    'https://8.8.8.8/',
    'HTTPS://[2606:4700::1111]/',
  ])('may be %s', (url) => {
    expect(receiverProblem(url)).toBeUndefined()
  })

  it.each([
    ['http://example.com/', 'the URL does not begin with https://'],
    ['ftp://example.com/', 'the URL does not begin with https://'],
    ['file:///etc/passwd', 'the URL does not begin with https://'],
    ['gopher://127.0.0.1:6379/_INFO', 'the URL does not begin with https://'],
    ['data:,x', 'the URL does not begin with https://'],
    ['https://ann@example.com/', 'the URL has a user or a password'],
    ['https://:secret@example.com/', 'the URL has a user or a password'],
    ['https://8.8.8.8@127.0.0.1/', 'the URL has a user or a password'],
    ['', 'the URL is malformed'],
    ['/hook', 'the URL is malformed'],
    ['example.com', 'the URL is malformed'],
    ['https://', 'the URL is malformed'],
    ['https://exa mple.com', 'the URL is malformed'],
    ['https://example.com:99999', 'the URL is malformed'],
    ['https://256.1.1.1/', 'the URL is malformed'],
    ['https://[fe80::1%25lo]/', 'the URL is malformed'],
  ])('is not %s: %s', (url, problem) => {
    expect(receiverProblem(url)).toBe(problem)
  })

  it.each([
    '127.0.0.1',
    '127.1',
    '0x7f.1',
    '0177.0.0.1',
    '2130706433',
    '0x7f000001',
    '127.0.0.1.',
    '①②⑦.0.0.1',
    '%31%32%37.0.0.1',
    '0',
    '169.254.169.254',
    '0xa9fea9fe',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[0:0:0:0:0:ffff:a9fe:a9fe]',
    '[::127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
    '[fd00:ec2::254]',
  ])('has no address in any spelling that is not public: %s', (host) => {
    expect(receiverProblem(`https://${host}/`)).toBe(NOT_PUBLIC)
    expect(receiverProblem(`http://${host}:80/`, { allowHttp: true })).toBe(NOT_PUBLIC)
  })

  it('may begin with http:// where that is allowed, but with nothing else', () => {
    expect(receiverProblem('http://example.com/', { allowHttp: true })).toBeUndefined()
    const problem = receiverProblem('ws://example.com/', { allowHttp: true })
    expect(problem).toBe('the URL does not begin with https:// or http://')
  })

  it('may have an address that is allowed', () => {
    const allowedAddresses = ['10.1.0.0/16', 'fd00::/8']
    const problems = ['10.1.2.3', '10.2.2.3', '[fd00::1]', '[::ffff:10.1.2.3]'].map((host) =>
      receiverProblem(`https://${host}`, { allowedAddresses }),
    )
    expect(problems).toEqual([undefined, NOT_PUBLIC, undefined, NOT_PUBLIC])
  })

  it('is not read with a malformed range', () => {
    expect(() => receiverProblem('https://example.com', { allowedAddresses: ['10.0.0.0/40'] })).toThrow(
      ConfigurationError,
    )
  })
})

describe('the addresses of a host', () => {
  const { signal } = new AbortController()
  const find = (addresses: readonly string[], allowedAddresses: readonly string[] = []) =>
    addressesOf(new URL('https://hooks.test'), { allowedAddresses, resolve: async () => addresses }, signal)

  it.each([[['8.8.8.8']], [['8.8.8.8', '2606:4700::1111', '1.1.1.1']]])(
    'are all that it has: %j',
    async (addresses) => {
      expect(await find(addresses)).toEqual(addresses)
    },
  )

  it.each([
    [['127.0.0.1']],
    [['8.8.8.8', '10.0.0.1']],
    [['10.0.0.1', '8.8.8.8']],
    [['8.8.8.8', '::ffff:8.8.8.8']],
    [['8.8.8.8', '']],
    [['8.8.8.8', 'internal.example']],
    [['8.8.8.8', undefined as never]],
  ])('are refused for one that is not public: %j', async (addresses) => {
    await expect(find(addresses)).rejects.toMatchObject({ name: 'Undeliverable', message: NOT_PUBLIC })
  })

  it('may be public or allowed', async () => {
    expect(await find(['8.8.8.8', '10.0.0.1'], ['10.0.0.0/8'])).toEqual(['8.8.8.8', '10.0.0.1'])
  })

  it('are needed', async () => {
    await expect(find([])).rejects.toMatchObject({ name: 'Undeliverable', message: 'the host has no address' })
  })

  it('are not asked for where the URL has one', async () => {
    const resolve = () => Promise.reject(new Error('asked'))
    expect(await addressesOf(new URL('https://[2606:4700::1111]:1'), { resolve }, signal)).toEqual(['2606:4700::1111'])
  })
})
