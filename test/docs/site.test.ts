/** The book as a site: what `npm run docs` builds, followed link by link, and seen in Chromium. */
import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import Koa from 'koa'
import serveFiles from 'koa-static'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { findChromium, startBrowser, type TestBrowser } from '../support/browser.js'
import { createFolder } from '../support/files.js'
import { readProjectFile } from '../support/program.js'
import { serve, type TestServer } from '../support/server.js'

interface Element {
  readonly scrollWidth: number
  readonly clientWidth: number
  innerHTML: string
}
declare const document: { readonly documentElement: Element; querySelectorAll(selector: string): Iterable<Element> }
declare const innerWidth: number

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const SITE = join(ROOT, '.config/site')
const { version, description } = JSON.parse(readProjectFile('package.json')) as Record<string, string>
const outDir = join(createFolder(), 'site')
const run = promisify(execFile)

beforeAll(async () => {
  const vitepress = join(SITE, 'node_modules/.bin/vitepress')
  if (!existsSync(vitepress)) await run('npm', ['ci', '--prefix', SITE, '--no-audit', '--no-fund'])
  await run(vitepress, ['build', 'docs', '--outDir', outDir], { cwd: ROOT })
}, 300_000)

/** The pages, such as `how-to/uploads`, and their HTML. */
function readSite(): ReadonlyMap<string, string> {
  const files = readdirSync(outDir, { recursive: true }).map(String)
  return new Map(
    files
      .filter((file) => file.endsWith('.html'))
      .sort()
      .map((file) => [file.replace(/(?:^index)?\.html$/, ''), readFileSync(join(outDir, file), 'utf8')]),
  )
}

describe('the site', () => {
  it('has links that lead to its pages, headings and files alone, and to other sites', () => {
    const pages = readSite()
    const faults: string[] = []
    let followed = 0
    for (const [page, html] of pages) {
      for (const [, link = ''] of html.matchAll(/ (?:href|src)="([^"]+)"/g)) {
        const { origin, pathname, hash } = new URL(link.replaceAll('&amp;', '&'), `http://site.test/${page}`)
        if (origin !== 'http://site.test') continue
        const target = pages.get(pathname.slice(1))
        const anchor = decodeURIComponent(hash.slice(1))
        const isThere =
          target === undefined
            ? existsSync(join(outDir, pathname))
            : anchor === '' || target.includes(` id="${anchor}"`)
        if (!isThere) faults.push(`${page}: ${link}`)
        followed++
      }
    }
    expect(followed).toBeGreaterThan(5_000)
    expect(faults).toEqual([])
  })

  it('says in its first words what README and the registry say', () => {
    const [, text, tagline = ''] = /^ {2}text: (.+)\n {2}tagline: (.+)$/m.exec(readProjectFile('docs/index.md')) ?? []
    expect(`${text}: ${tagline.charAt(0).toLowerCase()}${tagline.slice(1)}`).toBe(description)
    const sentence = readProjectFile('README.md').split('\n\n')[1] ?? ''
    expect(sentence.replace(/\[([^\]]+)\]\([^)]+\)/g, '$1').replaceAll('\n', ' ')).toBe(description)
  })
})

const chromium = findChromium()
if (!chromium) console.warn('no Chromium on the PATH or at CHROMIUM_PATH: the site is not seen in a browser')

describe.skipIf(!chromium)('in Chromium the site', { timeout: 120_000 }, () => {
  let server: TestServer
  let browser: TestBrowser
  let page: Page
  let troubles: string[]

  beforeAll(async () => {
    server = await serve(new Koa().use(serveFiles(outDir, { extensions: ['html'] })))
    browser = await startBrowser(chromium as string)
  })
  afterAll(async () => {
    await browser?.close()
    await server?.close()
  })
  beforeEach(async () => {
    troubles = []
    page = await browser.context.newPage()
    page.on('console', (message) => message.type() === 'error' && troubles.push(message.text()))
    page.on('pageerror', (error) => troubles.push(error.message))
  })
  afterEach(async () => {
    await page.close()
    expect(troubles).toEqual([])
  })

  const open = (path: string) => page.goto(`http://127.0.0.1:${server.port}/${path}`)
  /** By how much the page is wider than the window. */
  const tooWide = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth)

  it.each([
    [1280, 'light'],
    [1280, 'dark'],
    [390, 'light'],
    [390, 'dark'],
  ] as const)('fits %i pixels, %s: home, contents, a page', async (width, colorScheme) => {
    await page.setViewportSize({ width, height: 844 })
    await page.emulateMedia({ colorScheme })
    await open('')
    await page.locator('.VPHero', { hasText: 'for Koa' }).waitFor()
    expect(await page.locator('html.dark').count()).toBe(colorScheme === 'dark' ? 1 : 0)
    expect(await page.locator('h2').allTextContents()).toEqual([
      expect.stringContaining('A whole program'),
      expect.stringContaining('Install'),
      expect.stringContaining('Four doors'),
      ...['Learn', 'Do', 'Look up', 'Understand'],
    ])
    expect(await tooWide()).toBe(0)
    await page.getByText(`koa-viewsets ${version}, under the MIT licence`).waitFor()

    await open('how-to/javascript-and-commonjs')
    expect(await page.title()).toBe('JavaScript, and require() | koa-viewsets')
    expect(await tooWide()).toBe(0)
    await page.getByText('docs/how-to/javascript-and-commonjs.md').waitFor()
    expect(await page.locator('.VPSidebarItem.is-active p').last().innerHTML()).toBe(
      'JavaScript, and <code>require()</code>',
    )

    await open('contents')
    expect(await tooWide()).toBe(0)
    const folded = page.locator('.VPSidebarItem.level-0.collapsed')
    expect(await folded.count()).toBe(await page.locator('.VPSidebarItem.level-0').count())
    if (width < 960) return
    await page.getByText(version as string, { exact: true }).waitFor()
    await folded.first().click()
    await page.locator('.VPSidebar').getByText('A first API').waitFor()
  })

  it('cuts off no table at 1280 pixels', async () => {
    await page.setViewportSize({ width: 1280, height: 844 })
    await open('reference/limits')
    const cutOff: string[] = []
    let tables = 0
    for (const [path, html] of readSite()) {
      const [, main] = /<main [^>]*>(.*)<\/main>/s.exec(html) ?? []
      if (!main?.includes('<table')) continue
      // in the frame that all pages have, as loading each takes ten times as long
      const widths = await page.evaluate((text) => {
        const [place] = document.querySelectorAll('main')
        if (place) place.innerHTML = text
        return [...document.querySelectorAll('.vp-doc table')].map((table) => table.scrollWidth - table.clientWidth)
      }, main)
      // its border is not in clientWidth
      cutOff.push(...widths.filter((width) => width > 2).map((width) => `${path}: ${width}`))
      tables += widths.length
    }
    expect(tables).toBeGreaterThan(300)
    expect(cutOff).toEqual([])
  })

  it('finds the page first whose title says it, or whose subject it is', async () => {
    await open('contents')
    await page.locator('.DocSearch-Button').first().click()
    const found: [string, string][] = []
    for (const [query] of SEARCHES) {
      await page.fill('.VPLocalSearchBox input', query)
      await page.locator('.VPLocalSearchBox .result').first().waitFor()
      // the answer to the last word typed comes 200 ms later
      await expect
        .poll(
          async () => {
            const first = await page.locator('.VPLocalSearchBox .result').first().getAttribute('href')
            found[SEARCHES.findIndex(([text]) => text === query)] = [query, first ?? '']
            return first
          },
          { timeout: 3_000 },
        )
        .toBe(SEARCHES.find(([text]) => text === query)?.[1])
        .catch(() => undefined)
    }
    expect(found).toEqual(SEARCHES)
  })
})

/** What people type, and what they want to read first. */
const SEARCHES: readonly (readonly [string, string])[] = [
  ['upload', '/how-to/uploads#take-uploads'],
  ['double booking', '/how-to/unique-errors#no-double-booking'],
  ['unique constraint', '/how-to/unique-errors#messages-of-unique-constraints'],
  ['permissions', '/how-to/permissions#say-who-may-do-what'],
  ['tenants', '/how-to/tenants#serve-several-tenants'],
  ['pagination', '/reference/pagination#pagination'],
  ['etag', '/how-to/caching-and-etags#caching-etags-and-if-match'],
  ['row level security', '/reference/row-level-security#row-level-security'],
  ['search', '/how-to/filters-and-search#filter-search-and-order-lists'],
  ['nested writes', '/how-to/nested-output-and-writes#nested-output-and-nested-writes'],
  ['n+1', '/how-to/nested-output-and-writes#show-related-objects'],
  ['drizzle', '/how-to/drizzle#beside-drizzle'],
  ['webhook', '/reference/webhooks#webhooks'],
  ['cors', '/how-to/other-middleware#koacors'],
]
