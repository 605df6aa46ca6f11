/** Each promise has a test that names it. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

/** How many promises each area has: A1 to A10, and so on. */
const AREAS = { A: 10, B: 17, C: 17, D: 23, E: 24, F: 17, G: 12, H: 14, I: 23, P: 14 }
/** The parts of P6. */
const FAULTS = ['P6a', 'P6b', 'P6c', 'P6d', 'P6e', 'P6f', 'P6g', 'P6h', 'P6i', 'P6j']
/** What shows F14, that images are never decoded, is that nothing here imports a decoder: the architecture test. */
const BY_REVIEW = new Set(['F14'])

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** The first text of `it(`, `describe(`, of the call that follows `it.each(…)`, and of a row of its table. */
const TITLE =
  /(?:(?:\b(?:it|test|describe)(?:\.\w+)*(?:<[^(]*>)?|\)|\])\(|^ +\[)\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`)/gm

function titles(): string[] {
  const files = readdirSync(ROOT, { recursive: true })
    .map(String)
    .filter((path) => path.endsWith('.test.ts'))
  return files.flatMap((path) =>
    [...readFileSync(join(ROOT, path), 'utf8').matchAll(TITLE)].map(
      ([, single, double, template]) => single ?? double ?? template ?? '',
    ),
  )
}

/** The ids in a title; `E13 to E15` names three. */
function idsOf(title: string): string[] {
  const ranges = [...title.matchAll(/\b([A-I])(\d{1,2}) to \1(\d{1,2})\b/g)].flatMap(([, area, from, to]) =>
    Array.from({ length: Number(to) - Number(from) + 1 }, (_, index) => `${area}${Number(from) + index}`),
  )
  return [...ranges, ...[...title.matchAll(/\b(?:[A-I]\d{1,2}|P\d{1,2}[a-j]?)\b/g)].map(([id]) => id)]
}

it('each id of a promise is in the title of a test', () => {
  const named = new Set(titles().flatMap(idsOf))
  for (const id of named) if (/^P6[a-j]$/.test(id)) named.add('P6')
  const ids = Object.entries(AREAS).flatMap(([area, count]) =>
    Array.from({ length: count }, (_, index) => `${area}${index + 1}`),
  )
  expect([...ids, ...FAULTS].filter((id) => !named.has(id) && !BY_REVIEW.has(id))).toEqual([])
})
