/**
 * Our benchmark: `npm run bench` runs all parts, `npm run bench -- steps` one of them: steps, endpoints, example or
 * profile. `--rounds` and `--seconds` say how often and how long the endpoints are measured, `--only delete` which of them.
 * The figures of a run are kept in `figures.json`, and the pictures that the book shows beside it.
 *
 * What a change costs: `npm run bench -- compare --before ../other-checkout --rounds 15` sets the view sets of another
 * checkout, where `npm ci` and `npm run build` have run, against those of this one, both in the same rounds.
 */
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { type BarChart, barChartSvg, barChartText } from './chart.js'
import { type EndpointFigures, measureEndpoints } from './endpoints.js'
import { measureExample } from './example.js'
import { keepFigures, keepPicture } from './figures.js'
import { flameSvg } from './flame.js'
import { STEP_NAMES } from './pipeline.js'
import { measureProfiles } from './profile.js'
import { measureSteps } from './steps.js'
import { markdownTable } from './table.js'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '1' },
    only: { type: 'string', multiple: true, default: [] },
    before: { type: 'string' },
  },
})
const rounds = Number(values.rounds)
const seconds = Number(values.seconds)
const { only } = values

const PARTS: Readonly<Record<string, () => Promise<void>>> = { steps, endpoints, example, profile, compare }

const parts = positionals.length > 0 ? positionals : ['steps', 'endpoints', 'example']
for (const part of parts) {
  if (!PARTS[part]) throw new Error(`There is no part "${part}"; choose from ${Object.keys(PARTS).join(', ')}`)
}
for (const part of parts) {
  console.log(`\n## ${part}\n`)
  await PARTS[part]?.()
}

async function steps(): Promise<void> {
  const figures = await measureSteps({ repetitions: 15, milliseconds: 20 })
  await keepFigures('steps', figures)
  const whole = (value: number) => Math.round(value).toLocaleString('en')
  console.log('CPU time of one operation: the median, and where the middle half of the repetitions lies\n')
  console.log(
    markdownTable(
      ['step', 'ns', 'middle half'],
      figures.map(({ name, median, low, high }) => [name, whole(median), `${whole(low)}–${whole(high)}`]),
    ),
  )
}

async function endpoints(): Promise<void> {
  const figures = await measureEndpoints({ rounds, seconds, only })
  // those that were not measured would be lost
  if (only.length === 0)
    await keepFigures(
      'endpoints',
      figures.map(({ other: handwritten, ...rest }) => ({ ...rest, handwritten })),
    )
  console.log(`${rounds} rounds of ${seconds} s, 32 connections; medians; hand-written / ours\n`)
  console.log(tableOf(figures))
  if (only.length > 0) return
  const chart: BarChart = {
    title: 'View sets against hand-written Koa + pg',
    note: `Above 1 is in favour of the view sets. Both send the same bytes. Medians of ${rounds} interleaved rounds.`,
    series: ['requests per second', 'server CPU'],
    rows: figures.map(({ name, requestsRatio, cpuRatio }) => ({
      label: name,
      ratios: [requestsRatio.median, cpuRatio.median],
    })),
  }
  console.log(`\n${barChartText(chart)}\n\n${await keepPicture('figures.svg', barChartSvg(chart))}`)
}

async function compare(): Promise<void> {
  const { before } = values
  if (before === undefined) throw new Error('compare: say --before, the folder of the checkout to compare with')
  const figures = await measureEndpoints({ rounds, seconds, only, before: resolve(before) })
  console.log(`${rounds} rounds of ${seconds} s, 32 connections; medians; ${before} / this checkout\n`)
  console.log(tableOf(figures))
  console.log('\nRatios above 1 are in favour of this checkout.')
}

function tableOf(figures: readonly EndpointFigures[]): string {
  return markdownTable(
    ['', 'requests/s', 'ratio', 'middle half', 'server CPU, µs', 'ratio', 'middle half'],
    figures.map(({ name, other, ours, requestsRatio, cpuRatio }) => [
      name,
      `${other.requestsPerSecond.toFixed(0)} / ${ours.requestsPerSecond.toFixed(0)}`,
      requestsRatio.median.toFixed(2),
      `${requestsRatio.low.toFixed(2)}–${requestsRatio.high.toFixed(2)}`,
      `${other.cpu.toFixed(0)} / ${ours.cpu.toFixed(0)}`,
      cpuRatio.median.toFixed(3),
      `${cpuRatio.low.toFixed(3)}–${cpuRatio.high.toFixed(3)}`,
    ]),
  )
}

async function example(): Promise<void> {
  const figures = await measureExample()
  await keepFigures('example', figures)
  const { firstStart, nextStart, memory } = figures
  console.log(
    markdownTable(
      ['example', 'measured', 'bar'],
      [
        ['npm start to first answer, first time', `${firstStart.toFixed(1)} s`, '12 s'],
        ['started again', `${nextStart.toFixed(1)} s`, ''],
        ['idle memory, without PostgreSQL', memory === null ? 'needs Linux' : `${memory.toFixed(0)} MB`, '150 MB'],
      ],
    ),
  )
}

async function profile(): Promise<void> {
  const profiles = await measureProfiles({ seconds: 3 * seconds })
  await keepFigures(
    'profile',
    profiles.map(({ name, cpu, steps: costs }) => ({ name, cpu, steps: costs })),
  )
  console.log('CPU time of the server, in microseconds for each request\n')
  const rows = STEP_NAMES.map((step) => [step, ...profiles.map(({ steps: costs }) => (costs[step] ?? 0).toFixed(1))])
  const sums = ['together', ...profiles.map(({ cpu }) => cpu.toFixed(1))]
  console.log(markdownTable(['step', ...profiles.map(({ name }) => name)], [...rows, sums]))
  console.log(`\n${await keepPicture('flame.svg', flameSvg(profiles))}`)
}
