/** Addresses of hosts, from a name server that answers over UDP. */
import { describe, expect, it } from 'vitest'
import { resolveHost } from '../../../lib/webhooks/resolve-host.js'
import { serveNames } from '../../support/name-server.js'

const { signal } = new AbortController()

describe('a host', () => {
  it('has the addresses of both families that its name server says', async () => {
    await serveNames({
      'both.test': ['10.0.0.1', '192.0.2.7', 'fd00::1'],
      'four.test': ['10.0.0.2'],
      'six.test': ['2001:db8::3'],
    })
    expect(await resolveHost('both.test', signal)).toEqual(['10.0.0.1', '192.0.2.7', 'fd00::1'])
    expect(await resolveHost('four.test', signal)).toEqual(['10.0.0.2'])
    expect(await resolveHost('six.test', signal)).toEqual(['2001:db8::3'])
  })

  it('is not found where the name server knows none, or no address', async () => {
    await serveNames({ 'empty.test': [] })
    await expect(resolveHost('unknown.test', signal)).rejects.toMatchObject({ code: 'ENOTFOUND' })
    await expect(resolveHost('empty.test', signal)).rejects.toMatchObject({ code: 'ENODATA' })
    await expect(resolveHost(`${'a'.repeat(64)}.test`, signal)).rejects.toMatchObject({ code: 'EBADNAME' })
  })

  it('is given up with its signal while the name server says nothing', async () => {
    const questions = await serveNames({ 'silent.test': 'silence' })
    const ending = new AbortController()
    const asked = resolveHost('silent.test', ending.signal)
    await expect.poll(() => questions.length).toBeGreaterThan(0)
    ending.abort()
    await expect(asked).rejects.toMatchObject({ code: 'ECANCELLED' })
  })

  it.each(['localhost', 'hooks.localhost', 'localhost.'])(
    'is this one, and not asked for, with the name %s',
    async (host) => {
      const questions = await serveNames({})
      expect(await resolveHost(host, signal)).toEqual(['127.0.0.1', '::1'])
      expect(questions).toEqual([])
    },
  )
})
