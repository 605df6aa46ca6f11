import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAtlas } from '../../examples/atlas/atlas.js'
import { PUBLIC_FOLDER } from '../../examples/atlas/home.js'
import { collectStatic, refreshAppVersion, registerVersionComponent } from '../../lib/assets/index.js'
import { clearVersionComponents } from '../../lib/assets/version-components.js'
import { findChromium, startBrowser } from '../support/browser.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { createFolder, writeFiles } from '../support/files.js'
import { readProjectFile } from '../support/program.js'
import { serve, type TestServer } from '../support/server.js'

declare const document: { querySelectorAll(selector: string): Iterable<{ textContent: string }> }

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
    expect(version.json).toEqual({ version: headers['x-app-version'], source: 'manifest', components: { pages: 1 } })
  })

  it('is another page than the API, which answers as before', async () => {
    expect((await server.send({ path: '/api/v1/cities/1' })).json).toMatchObject({ name: 'City 1' })
    expect((await server.send({ path: '/nowhere' })).json).toEqual({ detail: 'Not found', status: 404 })
    expect(await server.send({ method: 'HEAD', path: '/' })).toMatchObject({ status: 200, text: '' })
    expect((await server.send({ method: 'POST', path: '/' })).status).toBe(404)
  })
})

describe.skipIf(!chromium)('in Chromium', { timeout: 60_000 }, () => {
  it('pages through the cities, searches, and reloads once when there is a new version', async () => {
    const browser = await startBrowser(chromium as string)
    try {
      const page = await browser.context.newPage()
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
      await browser.close()
      clearVersionComponents()
    }
  })
})
