/** What pages quote of `explain` is what it says: of routes of the golden files, which run it. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { blocksOf, readBook } from '../support/book.js'

const GOLDEN = fileURLToPath(new URL('../golden', import.meta.url))
const ROUTE = /^[A-Z]+ \/\S* {2}\([\w-]+\)$/
const QUOTED = /^ *(?:reads|list|object|writes|holds|changes|deletes|inserts|loads|policies) {2,}\S/m

/** The lines that `explain` prints of each route, by its first one. */
const explained = new Map<string, Set<string>>()
for (const path of readdirSync(GOLDEN, { recursive: true }).map(String)) {
  if (!path.endsWith('.txt')) continue
  for (const part of readFileSync(join(GOLDEN, path), 'utf8').split('\n\n')) {
    const [first = '', ...lines] = part.split('\n').map(plain)
    if (ROUTE.test(part.split('\n')[0] ?? '')) {
      const known = explained.get(first) ?? new Set()
      explained.set(first, new Set([...known, ...lines]))
    }
  }
}

function plain(line: string): string {
  return line.trim().replace(/ +/g, ' ')
}

const quotes = readBook()
  .flatMap(blocksOf)
  .filter(({ text }) => QUOTED.test(text))
  .map(({ page, line, text }) => ({ place: `${page}:${line}`, lines: text.trimEnd().split('\n') }))

it('is quoted by the pages that say how lists are read', () => {
  const pages = quotes.map(({ place }) => place.replace(/:\d+$/, ''))
  expect(pages).toEqual(
    expect.arrayContaining([
      'docs/explanation/rows-to-json.md',
      'docs/how-to/nested-output-and-writes.md',
      'docs/how-to/slow-lists.md',
      'docs/tutorial/2-relations.md',
    ]),
  )
})

it.each(quotes)('is quoted as it is by $place', ({ lines }) => {
  const [first = ''] = lines
  const isWhole = ROUTE.test(first)
  const known = isWhole ? explained.get(plain(first)) : new Set([...explained.values()].flatMap((one) => [...one]))
  const unknown = lines.slice(isWhole ? 1 : 0).filter((line) => !known?.has(plain(line)))
  expect(unknown).toEqual([])
})
