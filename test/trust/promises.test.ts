/** Each promise has a test that names it in brackets: `[D9 P3] shows every row once`. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

/** How many promises each area has, A1 to A10 and so on; R are the structural rules, P the runs of the trust suite. */
const AREAS = { A: 10, B: 17, C: 19, D: 23, E: 25, F: 17, G: 12, H: 14, I: 30, J: 8, P: 14, R: 10 }
/** The parts of P6. */
const FAULTS = ['P6a', 'P6b', 'P6c', 'P6d', 'P6e', 'P6f', 'P6g', 'P6h', 'P6i', 'P6j']
/** The run of tools for agents. P15 and P16 stand bare: only by their names are they asked for. */
const AGENTS = ['P17']
const IDS = new Set([
  ...Object.entries(AREAS).flatMap(([area, count]) =>
    Array.from({ length: count }, (_, index) => `${area}${index + 1}`),
  ),
  ...FAULTS,
  ...AGENTS,
])
/** P6 is its parts. */
const BY_OTHERS = new Set(['P6'])

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const COMMENT = /^\s*\/\/.*$|\/\*\*?(?:(?!\*\/)[\s\S])*\*\//gm
/** The first text of `it(`, `describe(`, of the call that follows `it.each(…)`, and of a row of its table. */
const TITLE =
  /(?:(?:\b(?:it|test|describe)(?<how>(?:\.\w+)*)(?:<[^(]*>)?|\)|\])\(|^ +\[)\s*(?:'(?<single>(?:[^'\\]|\\.)*)'|"(?<double>(?:[^"\\]|\\.)*)"|`(?<template>(?:[^`\\]|\\.)*)`)/gm
const BRACKET = /\[([A-Z]\d{1,2}[a-j]?(?: [A-Z]\d{1,2}[a-j]?)*)\]/g

/** The titles of the tests in a file's text that are run. */
function titlesIn(source: string): string[] {
  return [...source.replace(COMMENT, '').matchAll(TITLE)]
    .filter(({ groups = {} }) => !/\.(?:skip|todo|fails)\b/.test(groups['how'] ?? ''))
    .map(({ groups = {} }) => groups['single'] ?? groups['double'] ?? groups['template'] ?? '')
}

const idsOf = (title: string): string[] => [...title.matchAll(BRACKET)].flatMap(([, ids = '']) => ids.split(' '))

/** An id at the beginning that no bracket holds. */
const beginsBare = (title: string): boolean => IDS.has(/^\w+/.exec(title)?.[0] ?? '')

/** Of all tests but these, whose samples are no proof. */
const titles = readdirSync(ROOT, { recursive: true })
  .map(String)
  .filter((path) => path.endsWith('.test.ts') && !path.endsWith('promises.test.ts'))
  .flatMap((path) => titlesIn(readFileSync(join(ROOT, path), 'utf8')))

describe('each id of a promise', () => {
  it('is in the bracket of a title', () => {
    const named = new Set(titles.flatMap(idsOf))
    expect([...IDS].filter((id) => !named.has(id) && !BY_OTHERS.has(id))).toEqual([])
  })

  it('that a bracket names is there', () => {
    expect(titles.filter((title) => idsOf(title).some((id) => !IDS.has(id)))).toEqual([])
  })

  it('stands in its bracket', () => {
    expect(titles.filter(beginsBare)).toEqual([])
  })
})

describe('a title', () => {
  it.each([
    ['the bracket of a test', `it('[A1] is', () => {})`, ['A1']],
    ['several ids', 'it(`[P6a I8] killed`, { timeout: 1 }, () => {})', ['P6a', 'I8']],
    ['a table', `it.each([\n  ['[B1]', 1],\n  ['[B2 B3] a text', 2],\n])('%s', () => {})`, ['B1', 'B2', 'B3']],
    ['the title of a table', `it.each<[string]>([\n  [1],\n])(\n  '[C3] %s', () => {})`, ['C3']],
    ['a condition', `it.skipIf(!isThere)('[H5] admit', () => {})`, ['H5']],
    ['a vector', `it('[D8] vector C10 has', () => {})`, ['D8']],
    ['no bracket', `it('C1 is', () => {})`, []],
    ['a bare cell', `it.each([\n  ['C1', 1],\n])('%s', () => {})`, []],
    ['percent-encoding', `it('b%C3%BC', () => {})`, []],
    ['a test that is not run', `it.skip('[A1] is', () => {})\nit.todo('[A2] is')`, []],
    ['a comment', `// it('[A1] is', () => {})\n/* it('[A2] is', () => {}) */`, []],
  ])('is read from %s', (_, source, expected) => {
    expect(titlesIn(source).flatMap(idsOf)).toEqual(expected)
  })

  it.each([
    ['C1', true],
    ['C1 is the first page', true],
    ['[C1] is ignored', false],
    ['vector C1', false],
    ['C99 is no promise', false],
  ])('%j begins with a bare id: %s', (title, expected) => {
    expect(beginsBare(title)).toBe(expected)
  })
})
