/** What the version script and hashed names do in a real browser (promises G6, G11). */
import { join } from 'node:path'
import Koa from 'koa'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { collectStatic, refreshAppVersion, staticUrl } from '../../lib/assets/index.js'
import { configure } from '../../lib/index.js'
import { type AppVersionOptions, appVersion, errors, staticAssets } from '../../plugins/index.js'
import { findChromium, startBrowser, type TestBrowser } from '../support/browser.js'
import { createFolder, writeFiles } from '../support/files.js'
import { serve, type TestServer } from '../support/server.js'

declare const window: { __serviceAppVersion?: string; fired?: unknown[]; location: { href: string } }
declare const document: {
  body: { dispatchEvent(event: unknown): void; textContent: string }
  addEventListener(name: string, listener: (event: { detail: unknown; preventDefault(): void }) => void): void
  dispatchEvent(event: unknown): void
}
declare const CustomEvent: new (name: string, options: object) => unknown
declare const XMLHttpRequest: new () => { open(...values: string[]): void; send(): void; onload: () => void }

const chromium = findChromium()
if (!chromium) console.warn('no Chromium on the PATH or at CHROMIUM_PATH: the version script is not tried in a browser')

describe.skipIf(!chromium)('in Chromium', { timeout: 60_000 }, () => {
  let browser: TestBrowser
  let page: Page
  let server: TestServer
  let pages: number
  let warnings: string[]
  let troubles: string[]

  beforeAll(async () => {
    browser = await startBrowser(chromium as string)
  }, 60_000)
  afterAll(() => browser?.close())

  beforeEach(async () => {
    pages = 0
    warnings = []
    troubles = []
    page = await browser.context.newPage()
    page.on('console', (message) => {
      if (message.type() === 'warning') warnings.push(message.text())
      if (message.type() === 'error') troubles.push(message.text())
    })
    page.on('pageerror', (error) => troubles.push(error.message))
    page.on('dialog', (dialog) => {
      troubles.push(`dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
  })
  afterEach(async () => {
    await page.close()
    await server.close()
    configure({})
    expect(troubles).toEqual([])
  })

  interface Site extends AppVersionOptions {
    version?: string
    csp?: (nonce: string) => string
    before?: Koa.Middleware
  }

  /** Serves a page at `/` and a part of it at `/part`, and opens the page. */
  async function open({ version = 'v1', csp, before, ...options }: Site = {}): Promise<void> {
    configure({ appVersion: version })
    const app = new Koa()
    app.use(errors())
    if (before) app.use(before)
    app.use(appVersion(options))
    app.use((ctx) => {
      if (ctx.path === '/part') ctx.body = { part: true }
      if (ctx.path !== '/') return
      pages++
      if (csp) ctx.set('Content-Security-Policy', csp(ctx.state['nonce'] as string))
      ctx.body = '<!doctype html><html><head><link rel="icon" href="data:,"></head><body><p>page</p></body></html>'
    })
    server = await serve(app)
    await page.goto(`http://127.0.0.1:${server.port}/`)
  }

  /** What a library of partial navigation does. */
  async function navigate(): Promise<void> {
    const telling = page.evaluate(async () => {
      const response = await fetch('/part')
      document.body.dispatchEvent(new CustomEvent('ajaxnav:afterRequest', { bubbles: true, detail: { response } }))
    })
    // the reload that this is about may be faster than the end of the function
    await telling.catch((error: Error) => {
      if (!error.message.includes('Execution context was destroyed')) throw error
    })
  }

  const pageVersion = () => page.evaluate(() => window.__serviceAppVersion)

  /** After a round trip through page and server no reload is under way any more. */
  async function settle(): Promise<void> {
    await page.waitForLoadState()
    await page.evaluate(() => fetch('/part').then((response) => response.text()))
    await page.waitForLoadState()
  }

  it('the page reloads exactly once when the version changes on the server', async () => {
    await open()
    await navigate()
    await settle()
    expect([pages, await pageVersion()]).toEqual([1, 'v1'])

    configure({ appVersion: 'v2' })
    const reloaded = page.waitForEvent('load')
    await navigate()
    await reloaded
    expect([pages, await pageVersion()]).toEqual([2, 'v2'])
    for (let repeat = 0; repeat < 3; repeat++) await navigate()
    await settle()
    expect([pages, warnings]).toEqual([2, []])
  })

  it('two versions that answer by turns reload a tab once each, and then warn once', async () => {
    let turn = 0
    await open({
      // the page stays as it is, the parts come from another version
      before: async (ctx, next) => {
        await next()
        if (ctx.path === '/part') ctx.set('X-App-Version', ['v2', 'v3'][turn++ % 2] as string)
      },
    })
    for (const loads of [2, 3]) {
      const reloaded = page.waitForEvent('load')
      await navigate()
      await reloaded
      expect(pages).toBe(loads)
    }
    for (let repeat = 0; repeat < 6; repeat++) await navigate()
    await settle()
    expect(pages).toBe(3)
    expect(warnings).toEqual([
      'This page is of version v1, the server has version v2. Reload the page.',
      'This page is of version v1, the server has version v3. Reload the page.',
    ])
  })

  it('warn logs once for each version, and reloads nothing', async () => {
    await open({ mismatch: 'warn' })
    configure({ appVersion: 'v2' })
    for (let repeat = 0; repeat < 3; repeat++) await navigate()
    await settle()
    expect([pages, await pageVersion()]).toEqual([1, 'v1'])
    expect(warnings).toEqual(['This page is of version v1, the server has version v2. Reload the page.'])
    configure({ appVersion: 'v3' })
    await navigate()
    await settle()
    expect(warnings).toHaveLength(2)
  })

  it('ignore injects nothing', async () => {
    await open({ mismatch: 'ignore' })
    configure({ appVersion: 'v2' })
    await navigate()
    await settle()
    expect([pages, await pageVersion(), warnings]).toEqual([1, undefined, []])
    expect(await page.content()).not.toContain('<script')
  })

  it('reads the version from an XMLHttpRequest, too, and takes events without either', async () => {
    await open({ mismatch: 'warn' })
    configure({ appVersion: 'v2' })
    await page.evaluate(async () => {
      for (const detail of [null, {}, { xhr: {} }, { response: {} }, 7]) {
        document.dispatchEvent(new CustomEvent('ajaxnav:afterRequest', { detail }))
      }
      const xhr = new XMLHttpRequest()
      await new Promise<void>((resolve) => {
        xhr.onload = resolve
        xhr.open('GET', '/part')
        xhr.send()
      })
      document.dispatchEvent(new CustomEvent('ajaxnav:afterRequest', { detail: { xhr } }))
    })
    await settle()
    expect(warnings).toHaveLength(1)
  })

  it('asks the page first, which may see to it itself', async () => {
    await open()
    configure({ appVersion: 'v2' })
    await page.evaluate(() => {
      window.fired = []
      document.addEventListener('koa-viewsets:version-mismatch', (event) => {
        window.fired?.push(event.detail)
        event.preventDefault()
      })
    })
    await navigate()
    await navigate()
    await settle()
    const mismatch = { current: 'v1', server: 'v2', action: 'reload' }
    expect(await page.evaluate(() => window.fired)).toEqual([mismatch, mismatch])
    expect([pages, warnings]).toEqual([1, []])
  })

  it('warns where it cannot remember that it has reloaded', async () => {
    await page.addInitScript(
      "Object.defineProperty(window, 'sessionStorage', { get() { throw new Error('blocked') } })",
    )
    await open()
    configure({ appVersion: 'v2' })
    await navigate()
    await navigate()
    await settle()
    expect([pages, warnings.length]).toEqual([1, 1])
  })

  it.each([
    '</script><script>alert(1)//',
    '<!--<script>',
    String.raw`";alert(1);"\u003c`,
    "';alert(1)//",
    '</body></html><img/src=x/onerror=alert(1)>',
    '&lt;script&gt;',
  ])('[G6] the version %s runs nothing', async (version) => {
    await open({ version })
    await navigate()
    await settle()
    expect(await pageVersion()).toBe(version)
    expect(await page.evaluate(() => document.body.textContent)).toMatch(/^pagewindow\.__serviceAppVersion=/)
    expect([pages, warnings]).toEqual([1, []])
  })

  it("[G6] runs under script-src 'nonce-…', and does what it does", async () => {
    let count = 0
    const nonce = (ctx: Koa.Context): string => {
      ctx.state['nonce'] ??= Buffer.from(`nonce ${count++}`).toString('base64')
      return ctx.state['nonce'] as string
    }
    await open({
      nonce,
      before: async (ctx, next) => {
        nonce(ctx)
        await next()
      },
      csp: (value) => `default-src 'none'; img-src data:; connect-src 'self'; script-src 'nonce-${value}'`,
    })
    expect(await pageVersion()).toBe('v1')
    configure({ appVersion: 'v2' })
    const reloaded = page.waitForEvent('load')
    await navigate()
    await reloaded
    expect([pages, await pageVersion()]).toEqual([2, 'v2'])
  })

  it('a hashed asset is fetched once, and a changed one under its new name', async () => {
    const source = createFolder({
      'css/app.css': 'p{background:url(a.svg)}',
      'css/a.svg': '<svg/>',
      'js/app.js': '1',
    })
    const root = join(createFolder(), 'out')
    const collect = async () => {
      await collectStatic({ staticDirs: [source], staticRoot: root })
      return refreshAppVersion()
    }
    const asked: string[] = []
    const app = new Koa()
    app.use(async (ctx, next) => {
      asked.push(ctx.path)
      await next()
    })
    app.use(staticAssets({ root }))
    app.use((ctx) => {
      ctx.set('Cache-Control', 'no-cache')
      ctx.body = `<!doctype html><html><head><link rel="icon" href="data:,"><link rel="stylesheet" href="${staticUrl('css/app.css')}">
        <script src="${staticUrl('js/app.js')}"></script></head><body><p>page</p></body></html>`
    })
    await collect()
    server = await serve(app)

    const network = await browser.context.newCDPSession(page)
    await network.send('Network.enable')
    const log: string[] = []
    const kept = new Set<string>()
    network.on('Network.requestServedFromCache', ({ requestId }) => kept.add(requestId))
    network.on('Network.responseReceived', ({ requestId, response }) => {
      const fetched = !response.fromDiskCache && !kept.has(requestId)
      log.push(`${fetched ? 'fetched' : 'kept'} ${new URL(response.url).pathname}`)
    })
    const visit = async () => {
      log.length = 0
      asked.length = 0
      await page.goto(`http://127.0.0.1:${server.port}/`, { waitUntil: 'networkidle' })
      return { fetched: log.filter((line) => line.startsWith('fetched')).sort(), asked: [...asked].sort() }
    }

    const first = await visit()
    expect(first.fetched).toEqual([
      'fetched /',
      expect.stringMatching(/^fetched \/static\/css\/a\.[0-9a-f]{12}\.svg$/),
      expect.stringMatching(/^fetched \/static\/css\/app\.[0-9a-f]{12}\.css$/),
      expect.stringMatching(/^fetched \/static\/js\/app\.[0-9a-f]{12}\.js$/),
    ])
    expect(await visit()).toEqual({ fetched: ['fetched /'], asked: ['/'] })
    expect(log.filter((line) => line.startsWith('kept')).length).toBeGreaterThanOrEqual(2)

    writeFiles(source, { 'css/a.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>' })
    await collect()
    const changed = await visit()
    expect(changed.asked).toEqual([
      '/',
      expect.stringMatching(/^\/static\/css\/a\.[0-9a-f]{12}\.svg$/),
      expect.stringMatching(/^\/static\/css\/app\.[0-9a-f]{12}\.css$/),
    ])
    expect(first.asked).not.toContain(changed.asked[1])
    expect(await visit()).toEqual({ fetched: ['fetched /'], asked: ['/'] })
  })
})
