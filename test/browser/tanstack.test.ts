/** The page of `examples/tanstack` in a real browser: built by its own tool, over the atlas. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Koa from 'koa'
import serveFiles from 'koa-static'
import type { Page } from 'playwright-core'
import { build, createServer } from 'vite'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Atlas, createAtlas } from '../../examples/atlas/atlas.js'
import { findChromium, startBrowser, type TestBrowser } from '../support/browser.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { createFolder } from '../support/files.js'
import { readProjectFile } from '../support/program.js'
import { serve, type TestServer } from '../support/server.js'

const folder = fileURLToPath(new URL('../../examples/tanstack', import.meta.url))

function isInstalled(): boolean {
  try {
    return createRequire(join(folder, 'package.json')).resolve('@tanstack/react-query') !== ''
  } catch {
    return false
  }
}

const chromium = findChromium()
if (!chromium) console.warn('no Chromium on the PATH or at CHROMIUM_PATH: the page of examples/tanstack is not tried')

describe.skipIf(!chromium || !isInstalled())('in Chromium the page', { timeout: 60_000 }, () => {
  let database: TestDatabase
  let atlas: Atlas
  let server: TestServer
  let browser: TestBrowser
  let page: Page
  let troubles: string[]

  beforeAll(async () => {
    database = await createDatabase({ schema: readProjectFile('examples/atlas/schema.sql') })
    atlas = await createAtlas(database.knex)
    const country = { official_name: '', region: '', latitude: '1', longitude: '1' }
    await database.knex('countries').insert([
      { ...country, name: 'Peru', cca2: 'PE', cca3: 'PER' },
      { ...country, name: 'Chad', cca2: 'TD', cca3: 'TCD' },
    ])
    const cities = Array.from({ length: 8 }, (_, index) => ({
      geoname_id: index,
      name: `City ${index}`,
      country_id: index === 7 ? 2 : 1,
      population: 100 * index,
      latitude: '1',
      longitude: '1',
    }))
    await database.knex('cities').insert(cities)
    const outDir = join(createFolder(), 'out')
    await build({ configFile: join(folder, 'vite.config.ts'), logLevel: 'error', build: { outDir, emptyOutDir: true } })
    const answer = atlas.app.callback()
    const app = new Koa().use(async (ctx, next) => {
      if (!ctx.path.startsWith('/api/')) return next()
      ctx.respond = false
      await answer(ctx.req, ctx.res)
    })
    server = await serve(app.use(serveFiles(outDir)))
    browser = await startBrowser(chromium as string)
  }, 120_000)
  afterAll(async () => {
    await browser?.close()
    await server?.close()
    await atlas?.api.close()
    await database?.drop()
  })

  beforeEach(async () => {
    troubles = []
    await database.knex('lists').delete()
    await database.knex('lists').insert(['Islands', 'Deserts'].map((title) => ({ title, owner_id: 1 })))
    page = await browser.context.newPage()
    page.setDefaultTimeout(15_000)
    page.on('pageerror', (error) => troubles.push(error.message))
    await page.goto(`http://127.0.0.1:${server.port}/`)
    await page.getByText('Islands').waitFor()
  })
  afterEach(async () => {
    await page.close()
    expect(troubles).toEqual([])
  })

  /** The page has asked, and shows its answer soon. */
  const soon = { timeout: 15_000 }
  const textsOf = (selector: string) => page.locator(selector).allTextContents()

  it('shows the lists that fit', async () => {
    await expect.poll(async () => (await textsOf('ul li span')).sort(), soon).toEqual(['Deserts', 'Islands'])
    await page.getByPlaceholder('Part of a title').fill('isl')
    await page.getByText('Deserts').waitFor({ state: 'detached' })
    await expect.poll(() => textsOf('ul li span'), soon).toEqual(['Islands'])
  })

  it('shows the error of a field beside it, and what was created', async () => {
    await page.locator('input[name=title]').fill('x')
    await page.getByText('Create').click()
    await page.locator('em[data-field=title]:not(:empty)').waitFor()
    await expect
      .poll(() => textsOf('em[data-field=title]'), soon)
      .toEqual(['Ensure this field has at least 2 characters.'])
    await page.locator('input[name=title]').fill('Mountains')
    await page.getByText('Create').click()
    await page.locator('ul li span', { hasText: 'Mountains' }).waitFor()
    await expect.poll(() => textsOf('em[data-field=title]'), soon).toEqual([''])
  })

  it('shows a change at once, and takes it back where somebody else was first', async () => {
    const item = page.locator('li', { hasText: 'Islands' })
    await item.getByText('Louder').click()
    await page.locator('li span', { hasText: /^Islands!$/ }).waitFor()
    await expect.poll(() => database.knex('lists').where({ title: 'Islands!' }), soon).toHaveLength(1)
    await page.locator('li span', { hasText: /^Islands!$/ }).waitFor()
    await expect.poll(() => textsOf('li em[role=alert]'), soon).toEqual([])

    // held back, so that what is shown meanwhile can be seen
    let release: () => void = () => undefined
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    await page.route('**/api/v1/lists/*', async (route) => {
      if (route.request().method() === 'PATCH') await held
      await route.continue()
    })
    await database.knex('lists').where({ title: 'Islands!' }).update({ title: 'Atolls', updated_at: new Date() })
    await item.getByText('Louder').click()
    await page.locator('li span', { hasText: /^Islands!!$/ }).waitFor()
    release()
    await page.locator('li span', { hasText: /^Atolls$/ }).waitFor()
    await expect.poll(() => textsOf('li em[role=alert]'), soon).toEqual(['Somebody else was first.'])
    expect(await database.knex('lists').where({ title: 'Atolls' })).toHaveLength(1)
  })

  it('shows what somebody else creates, changes and deletes', async () => {
    const send = async (method: string, path: string, body?: unknown) => {
      const headers = { authorization: 'Token bob-demo-token', 'content-type': 'application/json' }
      const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
      const response = await fetch(`http://127.0.0.1:${server.port}/api/v1/lists${path}`, init)
      expect(response.ok).toBe(true)
      return response
    }
    const made = await send('POST', '', { title: 'Glaciers', visibility: 'public' })
    const { id } = (await made.json()) as { id: string }
    await page.getByText('Glaciers').waitFor()
    await send('PATCH', `/${id}`, { title: 'Fjords' })
    await page.getByText('Fjords').waitFor()
    await send('PATCH', `/${id}`, { visibility: 'private' })
    await page.getByText('Fjords').waitFor({ state: 'detached' })
  })

  it('goes on to the next cities by cursor, of the country that is asked for', async () => {
    await expect.poll(() => textsOf('ol li'), soon).toEqual(['City 7: 700', 'City 6: 600', 'City 5: 500'])
    await page.getByText('More').click()
    await page.getByText('City 2: 200').waitFor()
    await page.getByText('More').click()
    await page.getByText('City 0: 0').waitFor()
    await expect.poll(() => textsOf('ol li'), soon).toHaveLength(8)
    await expect.poll(() => page.getByText('More').count(), soon).toBe(0)
    await page.getByPlaceholder('Country').fill('Chad')
    await page.getByText('City 6').waitFor({ state: 'detached' })
    await expect.poll(() => textsOf('ol li'), soon).toEqual(['City 7: 700'])
  })

  it('is served by the command of its page, beside an atlas anywhere', async () => {
    vi.stubEnv('ATLAS_URL', `http://127.0.0.1:${server.port}`)
    const configFile = join(folder, 'vite.config.ts')
    const vite = await createServer({ configFile, logLevel: 'error', cacheDir: createFolder(), server: { port: 0 } })
    try {
      await vite.listen()
      await page.goto(vite.resolvedUrls?.local[0] as string)
      await page.getByText('Islands').waitFor()
      await page.getByText('City 7: 700').waitFor()
    } finally {
      await vite.close()
      vi.unstubAllEnvs()
    }
  })

  it('holds nothing of the server', async () => {
    const scripts = await page.locator('script[src]').evaluateAll((all) => all.map((one) => one.getAttribute('src')))
    const texts = await Promise.all(scripts.map(async (src) => (await fetch(new URL(src ?? '', page.url()))).text()))
    expect(texts.join('').length).toBeGreaterThan(1_000)
    expect(texts.join('')).not.toMatch(/APIRouter|ModelViewSet|objection|knex/)
  })
})
