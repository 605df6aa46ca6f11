/** Every link of the book leads somewhere. */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { type Page, readBook } from '../support/book.js'
import { addressesOf, anchorsOf, faultOf, linksOf } from '../support/links.js'
import { readProjectFile } from '../support/program.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const ROOT_FILES = readdirSync(ROOT)
const OTHERS = ['CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md', 'examples/cluster/README.md']

const book = readBook()
const pages: readonly Page[] = [...book, ...OTHERS.map((path) => ({ path, text: readProjectFile(path) }))]

describe('the book', () => {
  it('has all of its pages in its table of contents', () => {
    const contents = book.find(({ path }) => path === 'docs/README.md') as Page
    const linked = new Set(linksOf(contents).map((link) => join('docs', link)))
    const others = book.map(({ path }) => path).filter((path) => path !== 'README.md' && path !== contents.path)
    expect(others.filter((path) => !linked.has(path))).toEqual([])
  })

  it('closes each block of code where it ends', () => {
    const fencesOf = ({ text }: Page) => (text.match(/^ *```.*$/gm) ?? []).map((line) => line.trim())
    const isClosed = (fences: readonly string[]) =>
      fences.length % 2 === 0 &&
      fences.every((fence, at) => (at % 2 === 1 ? fence === '```' : /^```[a-z]*$/.test(fence)))
    expect(pages.filter((page) => !isClosed(fencesOf(page))).map(({ path }) => path)).toEqual([])
    expect(isClosed(fencesOf({ path: '', text: '```ts\na()\n```}\n' }))).toBe(false)
  })

  it('begins with a README of less than 150 lines, of at most 140 characters outside of code and tables', () => {
    const [{ text }] = book as [Page]
    expect(text.split('\n').length).toBeLessThan(151)
    const lines = text.replace(/^```.*?^```$/gms, '').split('\n')
    expect(lines.filter((line) => line.length > 140 && !line.startsWith('|'))).toEqual([])
  })
})

describe('the picture of README', () => {
  it('is small', () => {
    const [, picture = ''] = /!\[[^\]]{20,}\]\((docs\/images\/[\w-]+\.png)\)/.exec(readProjectFile('README.md')) ?? []
    expect(statSync(join(ROOT, picture)).size).toBeLessThan(150_000)
  })
})

describe('the page of settings', () => {
  it('has every variable of the environment and every setting, and no other', () => {
    const source = readProjectFile('lib/kernel/settings.ts')
    const fields = /export interface Settings \{(.*?)^\}/ms.exec(source)?.[1] ?? ''
    const settings = [...fields.matchAll(/^ {2}readonly (\w+)\?/gm)].map(([, name]) => name)
    const variables = [...source.matchAll(/(?:variable: |\b(?:secret|flag|text|count)\()'([A-Z_]+)'/g)].map(
      ([, name]) => name,
    )
    const rows = readProjectFile('docs/reference/settings.md').matchAll(/^\| (?:`(\w+)`)? ?\| `(\w+)` \|/gm)
    const [named, set] = [...rows].reduce<[string[], string[]]>(
      ([left, right], [, variable, setting = '']) => [variable ? [...left, variable] : left, [...right, setting]],
      [[], []],
    )
    expect(settings.length).toBeGreaterThan(10)
    expect([new Set(named), new Set(set)]).toEqual([new Set(variables), new Set(settings)])
  })
})

describe('CONTRIBUTING', () => {
  const CODE = /`([^`\n]+)`/g
  const FILE = /^[\w./-]+\.(?:ts|json|md)$/
  const FUNCTION = /^#?[\w.]+\(\)$/
  /** It tells to save that one. */
  const TOLD = 'test/print.ts'

  it('names files and functions that there are', () => {
    const files = ['lib', 'plugins', 'test', 'examples', 'docs', '.config'].flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true }).map((name) => join(folder, String(name))),
    )
    const sources = files
      .filter((name) => /^(?:lib|plugins|test).*\.ts$/.test(name))
      .map((name) => readProjectFile(name))
    const declared = new Set(sources.flatMap((text) => [...text.matchAll(/[#\w]+(?= ?[(<=])/g)].map(([name]) => name)))
    const text = readProjectFile('CONTRIBUTING.md').replace(/^```.*?^```$/gms, '')
    const named = [...text.matchAll(CODE)].map(([, code = '']) => code).filter((code) => code !== TOLD)
    const missing = named.filter((code) => {
      if (FILE.test(code)) return !files.some((name) => `/${name}`.endsWith(`/${code}`)) && !ROOT_FILES.includes(code)
      return FUNCTION.test(code) && !declared.has(code.replace('()', '').split('.').at(-1) as string)
    })
    expect(named.length).toBeGreaterThan(200)
    expect(missing).toEqual([])
  })
})

describe('the links of the book', () => {
  it('lead to files and headings that there are', () => {
    expect(pages.flatMap((page) => linksOf(page).map((link) => faultOf(ROOT, page, link))).filter(Boolean)).toEqual([])
  })

  it('name no place of the package by its address, until package.json has one', () => {
    const { name, repository } = JSON.parse(readProjectFile('package.json'))
    const ours = pages.flatMap(addressesOf).filter((address) => address.includes(name))
    if (repository === undefined) expect(ours).toEqual([])
    else expect(ours.filter((address) => !address.startsWith(repository.url.replace(/^git\+|\.git$/g, '')))).toEqual([])
  })

  it('are told apart from those that lead nowhere', () => {
    const page: Page = {
      path: 'docs/page.md',
      text: '# A page: `one`, two\n\n[a](#a-page-one-two) [b](#b) [c](c.md) `[d](d.md)`\n',
    }
    expect(linksOf(page)).toEqual(['#a-page-one-two', '#b', 'c.md'])
    expect(anchorsOf(page)).toEqual(['a-page-one-two'])
    expect(faultOf(ROOT, page, 'c.md')).toBe('docs/page.md: there is no docs/c.md')
    expect(faultOf(ROOT, { path: 'README.md', text: '' }, 'CONTRIBUTING.md#nothing')).toBe(
      'README.md: CONTRIBUTING.md has no #nothing',
    )
    expect(faultOf(ROOT, { path: 'README.md', text: '' }, 'CONTRIBUTING.md#run-it')).toBeUndefined()
  })
})
