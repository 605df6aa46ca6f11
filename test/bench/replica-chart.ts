/** The picture and the table of reads with replicas, from the figures that `replicas.ts` has measured. */
import { lineChartSvg, type Panel } from './chart.js'
import { markdownTable } from './table.js'

/** What is read. */
export const KINDS = ['list of 25', 'one object', 'one object, after a write'] as const

/** One kind of read with so many replicas. */
export interface ReplicaPoint {
  readonly replicas: number
  readonly kind: (typeof KINDS)[number]
  readonly requestsPerSecond: number
  /** Processor time of the application for each read, in microseconds. */
  readonly cpu: number
  /** Processor time of the primary's processes for each read, in microseconds. */
  readonly primary: number
}

/** Relative to no replicas, since all of it shares the processors of one machine. */
export function replicasSvg(points: readonly ReplicaPoint[]): string {
  return lineChartSvg({
    title: 'Reads with 0, 1 and 2 replicas',
    note: 'Relative to none. The load, the application and all PostgreSQL servers share two cores here.',
    series: KINDS,
    panels: [
      panelOf(points, { title: 'Reads per second', figureOf: ({ requestsPerSecond }) => requestsPerSecond }),
      panelOf(points, { title: "The application's processor time for each read", figureOf: ({ cpu }) => cpu }),
      panelOf(points, { title: "The primary's processor time for each read", figureOf: ({ primary }) => primary }),
    ],
  })
}

interface Measure {
  readonly title: string
  readonly figureOf: (point: ReplicaPoint) => number
}

function panelOf(points: readonly ReplicaPoint[], { title, figureOf }: Measure): Panel {
  return {
    title,
    labels: [...new Set(points.map(({ replicas }) => String(replicas)))],
    lines: KINDS.map((kind) => {
      const values = points.filter((point) => point.kind === kind).map(figureOf)
      return values.map((value) => value / (values[0] as number))
    }),
  }
}

/** As the book has it: reads per second, and microseconds of the application and of the primary for each. */
export function replicasTable(points: readonly ReplicaPoint[]): string {
  const counts = [...new Set(points.map(({ replicas }) => replicas))]
  const cell = ({ requestsPerSecond, cpu, primary }: ReplicaPoint) =>
    [requestsPerSecond, cpu, primary].map((figure) => Math.round(figure).toLocaleString('en')).join('; ')
  return markdownTable(
    ['replicas', ...KINDS],
    counts.map((replicas) => [String(replicas), ...points.filter((point) => point.replicas === replicas).map(cell)]),
  )
}
