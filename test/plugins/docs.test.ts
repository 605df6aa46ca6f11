/** The documentation page and the document, with Chromium where there is one (promises E24, G8). */
// @ts-expect-error: the package has no types
import mount from 'koa-mount'
import type { Page, Request } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  APIRouter,
  ConfigurationError,
  IsAuthenticated,
  type Middleware,
  ModelSerializer,
  ModelViewSet,
  TokenAuthentication,
} from '../../lib/index.js'
import { authentication, docs, permissions } from '../../plugins/index.js'
import { findChromium, startBrowser, type TestBrowser } from '../support/browser.js'
import { type Client, serveApp } from '../support/client.js'
import { Book, BookSerializer, database, useLibrary } from '../support/library.js'

useLibrary()

const Token = new TokenAuthentication({ getUserForToken: (token) => (token === 'secret' ? { id: 1 } : null) })

class BookViewSet extends ModelViewSet<Book> {
  static override description = 'Books to *read*.'
  static override model = Book
  static override serializerClass = BookSerializer
  static override authenticationClasses = [Token]
  static override permissionClasses = [IsAuthenticated]
}

const createApi = () => new APIRouter({ prefix: '/api' }).register('books', BookViewSet)

async function serve(...middleware: Middleware[]): Promise<Client> {
  return serveApp(...middleware)
}

describe('docs()', () => {
  it('serves the document, built once and known by its ETag', async () => {
    let built = 0
    const api = createApi()
    const source = {
      prepare: () => api.prepare(),
      getSchema: (options: object) => {
        built++
        return api.getSchema(options)
      },
    }
    const { get } = await serve(docs(source, { title: 'Books', version: '2.1.0' }))
    const first = await get('/openapi.json')
    expect(first).toMatchObject({
      status: 200,
      headers: {
        'content-type': 'application/json; charset=utf-8',
        'x-content-type-options': 'nosniff',
        'cache-control': 'private, no-cache',
      },
      json: { openapi: '3.1.0', info: { title: 'Books', version: '2.1.0', description: '' } },
    })
    expect(first.text).toBe(JSON.stringify(api.getSchema({ title: 'Books', version: '2.1.0' })))
    const etag = first.headers.etag as string
    expect(etag).toMatch(/^W\/"[0-9a-f]{16}"$/)
    const again = await get('/openapi.json', { 'If-None-Match': etag })
    expect(again).toMatchObject({ status: 304, text: '', headers: { etag } })
    expect((await get('/openapi.json', { 'If-None-Match': '"x"' })).status).toBe(200)
    expect(built).toBe(1)
  })

  it('answers GET, HEAD and OPTIONS of its own paths, and leaves all others to the app', async () => {
    const { get, send } = await serve(docs(createApi()), (ctx) => {
      ctx.body = 'the app'
    })
    const paths = [
      ...['/docs', '/docs/', '/docs/swagger-ui.css', '/docs/swagger-ui-bundle.js', '/docs/start.js', '/openapi.json'],
      '/docs/favicon-32x32.png',
    ]
    for (const path of paths) {
      const whole = await get(path)
      expect(whole.status).toBe(200)
      const head = await send('HEAD', path)
      expect(head).toMatchObject({ status: 200, text: '' })
      expect(head.headers['content-length']).toBe(whole.headers['content-length'])
      expect(await send('POST', path, {})).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD, OPTIONS' } })
      const options = await send('OPTIONS', path)
      expect(options).toMatchObject({ status: 204, text: '', headers: { allow: 'GET, HEAD, OPTIONS' } })
    }
    const others = [
      ...['/', '/doc', '/docs/x', '/docs/index.html', '/docs/../package.json', '/docs/swagger-ui.js', '/openapi.json/'],
      ...['/docs/%2e%2e/%2e%2e/package.json', '/DOCS', '/docs%2f', '//docs', '/docs/swagger-initializer.js'],
    ]
    for (const path of others) expect((await get(path)).text).toBe('the app')
  })

  it('[G8] sends the page under a policy that lets nothing foreign and nothing inline run', async () => {
    const { get } = await serve(docs(createApi(), { title: '</title><script>alert(1)</script>' }))
    const page = await get('/docs?url=//evil.test&configUrl=//evil.test')
    expect(page.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
        "form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    })
    expect(page.text).not.toMatch(/evil|<script>|<style|javascript:|https?:|style=| on\w+=/)
    expect(page.text).toBe((await get('/docs')).text)
    expect((await get('/docs/start.js')).text).not.toMatch(/location|https?:|eval|cookie/)
  })

  it('is dark where the system is, and as wide as a phone', async () => {
    const { get } = await serve(docs(createApi()))
    expect((await get('/docs')).text).toContain('<meta name="color-scheme" content="light dark">')
    expect((await get('/docs/start.js')).text).toContain("matchMedia('(prefers-color-scheme: dark)')")
    const { text } = await get('/docs/swagger-ui.css')
    expect(text).toContain('html.dark-mode .swagger-ui{')
    expect(text.trimEnd()).toMatch(/@media \(max-width: 640px\) \{[^}]+\} \}$/)
  })

  it('has links that hold wherever it is mounted', async () => {
    const page = docs(createApi(), { path: '/help/api', schemaPath: '/schema.json' })
    const { get } = await serve(mount('/inner', page as never) as never, page)
    for (const path of ['/help/api', '/help/api/', '/inner/help/api', '/inner/help/api/']) {
      const { text } = await get(path)
      const links = [...text.matchAll(/(?:href|src|data-schema)="([^"]+)"/g)].map(([, link]) => link as string)
      expect(links).toHaveLength(6)
      for (const link of links) {
        const { pathname } = new URL(link, `http://a${path}`)
        expect(pathname.startsWith('/inner/')).toBe(path.startsWith('/inner/'))
        expect((await get(pathname)).status).toBe(200)
      }
    }
  })

  it('[E24] can sit behind authentication() and permissions()', async () => {
    const { get } = await serve(authentication(Token), permissions(IsAuthenticated), docs(createApi()))
    for (const path of ['/docs', '/docs/', '/docs/start.js', '/docs/swagger-ui-bundle.js', '/openapi.json']) {
      expect((await get(path)).status).toBe(401)
      expect((await get(path, { Authorization: 'Token wrong' })).status).toBe(401)
      const answer = await get(path, { Authorization: 'Token secret' })
      expect(answer.status).toBe(200)
      expect(answer.headers['cache-control']).toBe('private, no-cache')
    }
  })

  it('takes a document that is there already, and several under paths of their own', async () => {
    const api = createApi()
    await api.prepare()
    const one = docs(api.getSchema({ title: 'One' }))
    const two = docs(api, { title: 'Two', path: '/v2/docs', schemaPath: '/v2/openapi.json' })
    const { get } = await serve(one, two)
    expect((await get('/openapi.json')).json.info.title).toBe('One')
    expect((await get('/v2/openapi.json')).json.info.title).toBe('Two')
    expect((await get('/v2/docs')).text).toContain('data-schema="openapi.json"')
  })

  it('answers 503 while the database is away, and recovers', async () => {
    const api = createApi()
    let down = true
    const { get, reported } = await serve(
      docs({
        getSchema: () => api.getSchema(),
        prepare: () => (down ? Promise.reject(new Error('away')) : api.prepare()),
      }),
    )
    expect(await get('/openapi.json')).toMatchObject({ status: 503, headers: { 'retry-after': '5' } })
    expect((await get('/docs')).status).toBe(200)
    expect(reported).toHaveLength(1)
    down = false
    expect((await get('/openapi.json')).status).toBe(200)
  })

  it('[I23] has a document that cannot be written refused at the start', async () => {
    class Other extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = class BookSerializer extends ModelSerializer<Book> {
        static override model = Book
        static override fields = ['id']
      }
    }
    const twoOfAName = () => createApi().register('others', Other, 'other')
    const message = /another serializer are called "BookOutput"; set static schemaName/
    const api = twoOfAName()
    docs(api)
    const refused = api.prepare()
    await expect(refused).rejects.toThrow(ConfigurationError)
    await expect(refused).rejects.toThrow(message)
    const early = twoOfAName()
    // without a document it is none's business
    await early.prepare()
    expect(() => docs(early)).toThrow(message)
  })

  it('[I23] refuses paths that are none', () => {
    const options = [
      { path: 'docs' },
      { path: '/docs/' },
      { path: '/' },
      { path: '' },
      { path: '/a b' },
      { path: '/<x>' },
      { path: '/a//b' },
      { schemaPath: 'openapi.json' },
      { schemaPath: '/docs' },
      { schemaPath: '/docs/openapi.json' },
    ]
    for (const wrong of options) expect(() => docs(createApi(), wrong)).toThrow(ConfigurationError)
  })
})

const chromium = findChromium()

describe.skipIf(!chromium)(
  `in ${chromium ?? 'Chromium, which is not there: set CHROMIUM_PATH'}`,
  { timeout: 60_000 },
  () => {
    let browser: TestBrowser
    let page: Page
    const requests: string[] = []
    const trouble: string[] = []
    const foreign = (origin: string) =>
      requests.filter((url) => !url.startsWith(`${origin}/`) && !url.startsWith('data:'))

    beforeAll(async () => {
      browser = await startBrowser(chromium as string)
      // what the page's policy has stopped was asked of nobody
      const note = (request: Request) => request.failure()?.errorText !== 'csp' && requests.push(request.url())
      browser.context.on('requestfinished', note)
      browser.context.on('requestfailed', note)
      browser.context.on('dialog', (dialog) => {
        trouble.push(`dialog ${dialog.message()}`)
        void dialog.dismiss()
      })
      browser.context.on('console', (message) => {
        if (message.type() === 'error') trouble.push(message.text())
      })
      browser.context.on('weberror', ({ error }) => {
        trouble.push(String(error))
      })
      page = await browser.context.newPage()
      // before any script of the page: what its policy has refused
      await page.addInitScript(() => {
        const violations: string[] = []
        const { document } = Object.assign(globalThis, { violations }) as unknown as { document: EventTarget }
        document.addEventListener('securitypolicyviolation', (event) => {
          violations.push((event as Event & { violatedDirective: string }).violatedDirective)
        })
      })
    })
    afterAll(() => browser?.close())
    beforeEach(() => {
      requests.length = 0
      trouble.length = 0
    })

    it('executes an operation with a token, without a word of the policy', async () => {
      await database.knex('books').insert({ title: 'One' })
      const api = createApi()
      const { port } = await serve(docs(api, { title: 'Books' }), api.routes())
      const origin = `http://127.0.0.1:${port}`
      await page.goto(`${origin}/docs`)

      const operation = page.locator('#operations-book-book_retrieve')
      await operation.locator('.opblock-summary-control').click()
      await operation.locator('.try-out__btn').click()
      await operation.locator('input[placeholder="id"]').fill('1')
      const execute = async () => {
        const answered = page.waitForResponse(`${origin}/api/books/1`)
        await operation.locator('.execute').click()
        return (await answered).status()
      }
      expect(await execute()).toBe(401)

      await page.locator('.auth-wrapper .authorize').first().click()
      await page.locator('.auth-container input').fill('Token secret')
      await page.locator('.auth-btn-wrapper .authorize').click()
      await page.locator('.btn-done').click()
      expect(await execute()).toBe(200)
      await operation.locator('.live-responses-table .response-col_status', { hasText: '200' }).waitFor()
      expect(await operation.locator('.live-responses-table').textContent()).toContain('"title": "One"')

      expect(foreign(origin)).toEqual([])
      expect(await page.evaluate('globalThis.violations')).toEqual([])
      // Chromium itself writes a line for an answer of 401
      expect(trouble.filter((line) => !line.includes('401 (Unauthorized)'))).toEqual([])
    })

    it('[G8] runs nothing of a description or of its own address, and asks nobody else', async () => {
      const hostile =
        '</script><script>alert(1)</script><img src=x onerror=alert(2)><img src=https://evil.test/x.png>' +
        '<svg onload=alert(3)><iframe src="javascript:alert(4)"></iframe><a href="javascript:alert(5)">here</a>'
      class Hostile extends BookViewSet {
        static override description = hostile
      }
      const api = new APIRouter({ prefix: '/api' }).register('books', Hostile)
      const { port } = await serve(docs(api, { title: hostile, description: hostile }), api.routes())
      const origin = `http://127.0.0.1:${port}`
      const address = 'url=//evil.test/x.json&configUrl=//evil.test/y.json&validatorUrl=//evil.test&urls=//evil.test'
      await page.goto(`${origin}/docs?${address}#/<img src=x onerror=alert(6)>`)
      await page.locator('#operations-book-book_list .opblock-summary-control').click()
      await page.locator('#operations-book-book_list .responses-wrapper').waitFor()
      expect(foreign(origin)).toEqual([])
      expect(trouble.filter((line) => line.startsWith('dialog'))).toEqual([])
      expect(
        await page.locator('#swagger-ui script, #swagger-ui iframe, #swagger-ui a[href^="javascript:"]').count(),
      ).toBe(0)
    })
  },
)
