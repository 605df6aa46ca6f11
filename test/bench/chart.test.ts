/** The benchmark's pictures and the profile's steps, without measuring anything. */
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { barChartSvg, barChartText, lineChartSvg } from './chart.js'
import { readOwnFigures } from './figures.js'
import { flameSvg } from './flame.js'
import { STEP_NAMES, stepOf } from './pipeline.js'
import { type ReplicaPoint, replicasSvg, replicasTable } from './replica-chart.js'
import { figureOf } from './statistics.js'

const bars = {
  title: 'Ours & theirs',
  note: 'a < b',
  series: ['requests', 'CPU'],
  rows: [
    { label: 'one', ratios: [1.07, 0.99] },
    { label: 'many', ratios: [0.5, 1.7] },
  ],
}

const lines = {
  title: 'What grows',
  note: 'relative',
  series: ['list', 'retrieve'],
  panels: [
    {
      title: 'Rows',
      labels: ['10k', '2M'],
      lines: [
        [1, 1.1],
        [1, 0.9],
      ],
    },
  ],
}

const leaf = { name: '<anonymous>', step: 'route', total: 20, children: [] }
const profile = {
  name: 'list',
  cpu: 100,
  steps: { route: 100 },
  root: { name: '(root)', step: 'Koa', total: 100, children: [{ ...leaf, total: 100, children: [leaf] }] },
}

describe('the pictures', () => {
  it.each([
    ['bars', barChartSvg(bars)],
    ['lines', lineChartSvg(lines)],
    ['flames', flameSvg([profile])],
  ])('%s are well-formed, in themselves, and readable', (_, svg) => {
    expect(unclosed(svg)).toEqual([])
    expect(svg).not.toMatch(/<script|href=|NaN|undefined|Infinity/)
    const sizes = [...svg.matchAll(/font(?:-size)?: ?(?:\d+ )?(\d+)px/g)].map(([, size]) => Number(size))
    expect(Math.min(...sizes)).toBeGreaterThanOrEqual(12)
  })

  it('shows the bars in the terminal, with the line at 1', () => {
    const [first, second, third, fourth] = barChartText(bars).split('\n').slice(3)
    expect(first).toMatch(/^one {3}█+.? +1\.07 requests$/)
    expect(second).toMatch(/^ {6}█+.*0\.99 CPU$/)
    expect(third).toMatch(/^many {2}█+.? +┊ +0\.50 requests$/)
    expect(fourth).toMatch(/1\.70 CPU$/)
  })
})

it('the picture and the table of reads with replicas show the figures that were kept', async () => {
  const points = (await readOwnFigures('replicas.json')) as readonly ReplicaPoint[]
  expect(readFileSync(new URL('replicas.svg', import.meta.url), 'utf8')).toBe(replicasSvg(points))
  expect(readFileSync(new URL('../../docs/reference/replicas.md', import.meta.url), 'utf8')).toContain(
    replicasTable(points),
  )
})

describe('the steps of the profile', () => {
  const call = (url: string, scriptId = '1') => ({ functionName: 'f', scriptId, url, lineNumber: 0, columnNumber: 0 })
  const lib = new URL('../../lib/', import.meta.url)
  const folders = readdirSync(lib, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !['cli', 'testing', 'storage'].includes(entry.name))
    .map(({ name }) => name)

  it.each(folders)('know lib/%s', (folder) => {
    const step = stepOf(call(new URL(`${folder}/file.js`, lib).href), undefined)
    expect(STEP_NAMES).toContain(step)
    expect(step).not.toBe('other packages')
    expect(stepOf(call(new URL(`../dist/lib/${folder}/file.js`, lib).href), undefined)).toBe(step)
  })

  it.each([
    ["Node's writing for the query to pg", 'node:net', 'build the query', 'pg client'],
    ["Node's writing for Koa to HTTP", 'node:_http_outgoing', 'Koa', 'Node: HTTP, sockets, timers'],
    ['what V8 has built in to its caller', '', 'route', 'route'],
  ])('give %s', (_, url, caller, step) => {
    expect(stepOf(call(url, '0'), caller)).toBe(step)
  })
})

it('takes the median and the middle half', () => {
  expect(figureOf([5, 1, 3, 2, 4])).toEqual({ median: 3, low: 2, high: 4 })
  expect(figureOf([7])).toEqual({ median: 7, low: 7, high: 7 })
})

/** Elements that are not closed in order. */
function unclosed(svg: string): string[] {
  const open: string[] = []
  for (const [, slash, name = '', end] of svg.matchAll(/<(\/?)([a-z]+)[^>]*?(\/?)>/gi)) {
    if (slash) {
      if (open.pop() !== name) return [name]
    } else if (!end) open.push(name)
  }
  return open
}
