import { describe, expect, it } from 'vitest'
import { APIRouter, ModelViewSet, ViewSet } from '../../lib/index.js'
import { type Client, serveApp, type serving } from '../support/client.js'
import { countQueries } from '../support/database.js'
import { Author, AuthorSerializer, BookViewSet, database, useLibrary } from '../support/library.js'
import { exchange } from '../support/server.js'

useLibrary()

class AuthorViewSet extends ModelViewSet<Author> {
  static override model = Author
  static override serializerClass = AuthorSerializer
}

class Status extends ViewSet {
  list() {
    return 'ok'
  }
}

async function api(prefix: string | undefined, ...before: Parameters<typeof serving>): Promise<Client> {
  const router = new APIRouter(prefix === undefined ? {} : { prefix })
    .register('books', BookViewSet)
    .register('authors', AuthorViewSet, 'writer')
    .register('bücher-status', Status, 'status')
    .register('authors/{author_id:int}/status', Status, 'nested')
  await router.prepare()
  return serveApp(...before, router.routes())
}

describe('the API root', () => {
  it('maps each basename to the path of its collection', async () => {
    const { get } = await api('/api/v1')
    for (const path of ['/api/v1', '/api/v1/']) {
      expect(await get(path)).toMatchObject({
        status: 200,
        headers: { 'content-type': 'application/json; charset=utf-8', 'x-content-type-options': 'nosniff' },
        text: '{"book":"/api/v1/books","writer":"/api/v1/authors",' + '"status":"/api/v1/b%C3%BCcher-status"}',
      })
    }
  })

  it('shows paths that answer, and none that needs a parent', async () => {
    const { get } = await api('/api')
    const { json } = await get('/api')
    expect(Object.keys(json)).toEqual(['book', 'writer', 'status'])
    for (const path of Object.values<string>(json)) expect((await get(path)).status).toBe(200)
  })

  it('is at / without a prefix', async () => {
    const { get } = await api(undefined)
    expect((await get('/')).json).toMatchObject({ book: '/books' })
    expect((await get('/?x=1')).json).toMatchObject({ book: '/books' })
  })

  it('touches no database', async () => {
    const { get } = await api('/api')
    expect(await countQueries(database.knex, () => get('/api'))).toEqual([])
  })

  it('answers HEAD, OPTIONS and other methods as every view does', async () => {
    const { get, send } = await api('/api')
    const head = await send('HEAD', '/api')
    expect(head).toMatchObject({ status: 200, text: '' })
    expect(head.headers['content-length']).toBe(String(Buffer.byteLength((await get('/api')).text)))
    expect(await send('OPTIONS', '/api')).toMatchObject({ status: 200, headers: { allow: 'GET, HEAD, OPTIONS' } })
    expect(await send('POST', '/api', {})).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD, OPTIONS' } })
  })

  it('[D4 R8] names no host, whatever the request says', async () => {
    const { get, port } = await api('/api')
    const { text } = await get('/api')
    expect((await get('/api', { Host: 'evil.test', 'X-Forwarded-Host': 'evil.test' })).text).toBe(text)
    const absolute = await exchange(port, 'GET http://evil.test/api HTTP/1.1\r\nHost: evil.test\r\n\r\n')
    expect(absolute).toMatch(/^HTTP\/1\.1 200 /)
    expect(absolute).toContain(text)
    expect(absolute).not.toMatch(/evil/)
  })

  it('is empty for a router without resources', async () => {
    const client = await serveApp(new APIRouter({ prefix: '/api' }).routes())
    expect((await client.get('/api')).text).toBe('{}')
  })
})
