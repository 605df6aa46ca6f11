import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createAtlas } from '../../examples/atlas/atlas.js'
import { PUBLIC_FOLDER } from '../../examples/atlas/page.js'
import { collectStatic, refreshAppVersion, registerVersionComponent } from '../../lib/assets/index.js'
import { clearVersionComponents } from '../../lib/assets/version-components.js'
import { findChromium, startBrowser, type TestBrowser } from '../support/browser.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { createFolder, writeFiles } from '../support/files.js'
import { readProjectFile } from '../support/program.js'
import { serve, type TestServer } from '../support/server.js'

declare const document: {
  documentElement: { scrollWidth: number }
  querySelectorAll(selector: string): Iterable<{ textContent: string; scrollWidth: number; clientWidth: number }>
}
declare const innerWidth: number
declare const getComputedStyle: (element: unknown) => { backgroundColor: string }

const SCREENS = [
  [1280, 'light'],
  [1280, 'dark'],
  [390, 'light'],
  [390, 'dark'],
] as const

const chromium = findChromium()
if (!chromium) console.warn('no Chromium on the PATH or at CHROMIUM_PATH: the home page is not tried in a browser')
let database: TestDatabase
let server: TestServer
const staticRoot = join(createFolder(), 'out')

beforeAll(async () => {
  database = await createDatabase({ schema: readProjectFile('examples/atlas/schema.sql') })
  await database.knex.raw(`
    insert into countries (name, official_name, cca2, cca3, region, latitude, longitude)
      values ('Land', 'The Land', 'LA', 'LND', 'Here', 1, 2);
    insert into cities (geoname_id, name, country_id, population, latitude, longitude)
      select n, 'City ' || n, 1, 1000000 - n, 0, 0 from generate_series(1, 30) n`)
  await collectStatic({ staticDirs: [PUBLIC_FOLDER], staticRoot })
  server = await serve((await createAtlas(database.knex, { staticRoot })).app)
})
afterAll(async () => {
  await server.close()
  await database.drop()
})

describe('the home page of the atlas', () => {
  it('names hashed files that are kept for a year, its version, and a nonce', async () => {
    const { text, headers } = await server.send({ path: '/' })
    const [, nonce = ''] = /script-src 'nonce-([^']+)'/.exec(headers['content-security-policy'] as string) ?? []
    expect(nonce).toMatch(/^[A-Za-z0-9+/]{22}==$/)
    const files = [...text.matchAll(/(?:href|src)="(\/static\/[^"]+)"/g)].map(([, path = '']) => path)
    expect(files.length).toBeGreaterThanOrEqual(4)
    for (const path of files) {
      expect(path).toMatch(/\.[0-9a-f]{12}\.\w+$/)
      expect(await server.send({ path })).toMatchObject({
        status: 200,
        headers: { 'cache-control': 'public, max-age=31536000, immutable' },
      })
    }
    expect(text.match(/<script nonce="/g)).toHaveLength(2)
    expect(text.split(`nonce="${nonce}"`)).toHaveLength(3)
    expect(text).toContain(`<code>${String(headers['x-app-version'])}</code>`)
    const version = await server.send({ path: '/version' })
    expect(version.json).toEqual({ version: headers['x-app-version'], source: 'manifest', components: { pages: 3 } })
  })

  it('is another page than the API, which answers as before', async () => {
    expect((await server.send({ path: '/api/v1/cities/1' })).json).toMatchObject({ name: 'City 1' })
    expect((await server.send({ path: '/nowhere' })).json).toEqual({ detail: 'Not found', status: 404 })
    expect(await server.send({ method: 'HEAD', path: '/' })).toMatchObject({ status: 200, text: '' })
    expect((await server.send({ method: 'POST', path: '/' })).status).toBe(404)
  })
})

describe.skipIf(!chromium)('in Chromium', { timeout: 60_000 }, () => {
  let browser: TestBrowser
  let page: Page

  beforeAll(async () => {
    browser = await startBrowser(chromium as string)
  })
  afterAll(() => browser?.close())
  beforeEach(async () => {
    page = await browser.context.newPage()
  })
  afterEach(() => page.close())

  it('pages through the cities, searches, and reloads once when there is a new version', async () => {
    try {
      const troubles: string[] = []
      let loads = 0
      page.on('console', (message) => troubles.push(message.text()))
      page.on('pageerror', (error) => troubles.push(error.message))
      page.on('load', () => loads++)
      const names = () =>
        page.evaluate(() => [...document.querySelectorAll('td.name')].map(({ textContent }) => textContent))
      const shows = (name: string) => page.locator('td.name', { hasText: new RegExp(`^${name}$`) }).waitFor()
      const site = `http://127.0.0.1:${server.port}`

      await page.goto(`${site}/`)
      await shows('City 12')
      expect(await names()).toEqual(Array.from({ length: 12 }, (_, index) => `City ${index + 1}`))
      await page.click('#next')
      await shows('City 13')
      await page.click('#next')
      await shows('City 30')
      expect([page.url(), await names().then((list) => list.length)]).toEqual([`${site}/?page=3`, 6])
      await page.goBack()
      await shows('City 13')
      await page.fill('#search', 'ity 29')
      await shows('City 29')
      await page.waitForURL(`${site}/?search=ity+29`)
      expect([loads, troubles]).toEqual([1, []])

      const extra = createFolder()
      writeFiles(extra, { 'x.html': 'x' })
      registerVersionComponent('extra', [join(extra, 'x.html')])
      const reloaded = page.waitForEvent('load')
      await page.fill('#search', 'ity 28')
      await reloaded
      await shows('City 28')
      expect([loads, troubles]).toEqual([2, []])
      expect(await page.locator('footer code').textContent()).toBe(refreshAppVersion())
    } finally {
      clearVersionComponents()
    }
  })

  it.each(SCREENS)('fits %i pixels, %s, as its login does, which leads back', async (width, colorScheme) => {
    await page.setViewportSize({ width, height: 844 })
    await page.emulateMedia({ colorScheme })
    const troubles: string[] = []
    page.on('console', (message) => troubles.push(message.text()))
    /** What is wider than its place. */
    const cutOff = () =>
      page.evaluate(() => [
        document.documentElement.scrollWidth - innerWidth,
        ...[...document.querySelectorAll('.card')].map((card) => card.scrollWidth - card.clientWidth),
      ])
    const paper = () => page.evaluate(() => getComputedStyle([...document.querySelectorAll('body')][0]).backgroundColor)

    await page.goto(`http://127.0.0.1:${server.port}/?page=2`)
    await page.locator('td.name').first().waitFor()
    expect(await cutOff()).toEqual([0, 0])
    expect(await paper()).toBe(colorScheme === 'dark' ? 'rgb(11, 18, 32)' : 'rgb(241, 245, 249)')
    await page.getByRole('link', { name: 'Log in' }).click()
    await page.waitForURL('**/login')
    expect(await cutOff()).toEqual([0, 0])
    if (colorScheme === 'dark') return
    await page.fill('input[name=name]', 'alice')
    await page.fill('input[name=password]', 'wrong')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('alert').waitFor()
    expect(await cutOff()).toEqual([0, 0])
    await page.fill('input[name=name]', 'alice')
    await page.fill('input[name=password]', 'alice')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.waitForURL('**/?page=2')
    await page.getByRole('button', { name: 'Log alice out' }).click()
    await page.getByRole('link', { name: 'Log in' }).waitFor()
    // the browser's own, of the 401
    expect(troubles).toEqual([expect.stringContaining('401')])
  })

  if (process.env['WRITE_ANSWERS'])
    it('documents itself by a page, of which README gets a picture', async () => {
      await page.setViewportSize({ width: 1000, height: 760 })
      await page.goto(`http://127.0.0.1:${server.port}/docs`)
      await page.getByText('List countries').waitFor()
      const path = fileURLToPath(new URL('../../docs/images/docs-page.png', import.meta.url))
      const top = (await page.locator('.opblock-tag', { hasText: 'country' }).first().boundingBox())?.y ?? 0
      const clip = { x: 0, y: top - 6, width: 1000, height: 520 }
      await page.screenshot({ path, clip, fullPage: true })
    })
})
