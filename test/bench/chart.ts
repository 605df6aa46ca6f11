/** Our two charts: bars for the terminal and as SVG, and lines as SVG. */
import { COLOURS, fixed, LINE_HEIGHT, svgDocument, svgLegend, svgText } from './svg.js'

export interface BarChart {
  readonly title: string
  /** A line below the title. */
  readonly note: string
  readonly series: readonly string[]
  readonly rows: readonly BarRow[]
}

/** A label, and one ratio for each series. */
export interface BarRow {
  readonly label: string
  readonly ratios: readonly number[]
}

export interface LineChart {
  readonly title: string
  readonly note: string
  readonly series: readonly string[]
  readonly panels: readonly Panel[]
}

/** What one thing that grows does to the cost. */
export interface Panel {
  readonly title: string
  /** The places on the x axis. */
  readonly labels: readonly string[]
  /** For each series, a ratio at each place. */
  readonly lines: readonly (readonly number[])[]
}

const WIDTH = 760
const MARGIN = 20

// Bars

const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']
const TERMINAL_WIDTH = 48

/** The chart in Unicode blocks. The line is at 1. */
export function barChartText({ title, note, series, rows }: BarChart): string {
  const top = highest(rows.flatMap(({ ratios }) => ratios))
  const labelWidth = Math.max(...rows.map(({ label }) => label.length))
  const one = Math.round(TERMINAL_WIDTH / top)
  const lines = rows.flatMap(({ label, ratios }) =>
    ratios.map((ratio, index) => {
      const bar = blocks((ratio / top) * TERMINAL_WIDTH).padEnd(TERMINAL_WIDTH)
      const marked = bar[one] === ' ' ? `${bar.slice(0, one)}┊${bar.slice(one + 1)}` : bar
      return `${(index === 0 ? label : '').padEnd(labelWidth)}  ${marked} ${ratio.toFixed(2)} ${series[index]}`
    }),
  )
  return [title, note, '', ...lines].join('\n')
}

const BAR_LEFT = 210
const BAR_HEIGHT = 13
const ROW_GAP = 12
const BAR_TOP = 96
const VALUE_WIDTH = 36

/** The chart as an SVG document. The dashed line is at 1. */
export function barChartSvg({ title, note, series, rows }: BarChart): string {
  const top = highest(rows.flatMap(({ ratios }) => ratios))
  const scale = (WIDTH - BAR_LEFT - MARGIN - 40) / top
  const rowHeight = series.length * (BAR_HEIGHT + 2) + ROW_GAP
  const bottom = BAR_TOP + rows.length * rowHeight - ROW_GAP
  const content = heading(title, note, series)
  for (const [index, { label, ratios }] of rows.entries()) {
    const y = BAR_TOP + index * rowHeight
    const middle = y + (rowHeight - ROW_GAP) / 2 + 4
    content.push(svgText(label, { x: BAR_LEFT - 12, y: middle, anchor: 'end' }))
    for (const [place, ratio] of ratios.entries()) {
      const barTop = y + place * (BAR_HEIGHT + 2)
      const width = ratio * scale
      // a number on the dashed line could not be read
      const isBelowOne = ratio < 1 && width + VALUE_WIDTH > scale
      const valueLeft = BAR_LEFT + (isBelowOne ? scale : width) + 6
      content.push(
        `<rect x="${BAR_LEFT}" y="${barTop}" width="${fixed(width)}" height="${BAR_HEIGHT}" rx="2" fill="${COLOURS[place]}"/>`,
        svgText(ratio.toFixed(2), { x: valueLeft, y: barTop + 11, kind: 'small' }),
      )
    }
  }
  const one = fixed(BAR_LEFT + scale)
  content.push(
    `<line class="reference" x1="${one}" y1="${BAR_TOP - 8}" x2="${one}" y2="${bottom + 8}"/>`,
    svgText('1', { x: BAR_LEFT + scale, y: bottom + 24, kind: 'small', anchor: 'middle' }),
  )
  const description = rows.map(({ label, ratios }) => `${label}: ${ratios.map((ratio) => ratio.toFixed(2)).join(', ')}`)
  return svgDocument({
    title,
    description: `${series.join(', ')}. ${description.join('; ')}.`,
    width: WIDTH,
    height: bottom + 38,
    content,
  })
}

/** Blocks of so many characters' width, in eighths. */
function blocks(width: number): string {
  const eighths = Math.max(0, Math.round(width * 8))
  return '█'.repeat(Math.floor(eighths / 8)) + EIGHTHS[eighths % 8]
}

// Lines

const PANEL_COLUMNS = 2
const PANEL_HEIGHT = 150
const PANEL_TOP = 124
const PANEL_GAP = 72
const AXIS_WIDTH = 36

/** Panels beside each other, all with the same axis from 0, as SVG document. */
export function lineChartSvg({ title, note, series, panels }: LineChart): string {
  const top = Math.max(2, highest(panels.flatMap(({ lines }) => lines.flat())))
  const width = (WIDTH - MARGIN * 3) / PANEL_COLUMNS
  const content = heading(title, note, series)
  for (const [index, panel] of panels.entries()) {
    const x = MARGIN + (index % PANEL_COLUMNS) * (width + MARGIN)
    const y = PANEL_TOP + Math.floor(index / PANEL_COLUMNS) * (PANEL_HEIGHT + PANEL_GAP)
    content.push(...panelSvg(panel, { x, y, width, top }))
  }
  const rows = Math.ceil(panels.length / PANEL_COLUMNS)
  return svgDocument({
    title,
    description: panels.map((panel) => describePanel(panel, series)).join(' '),
    width: WIDTH,
    height: PANEL_TOP + rows * (PANEL_HEIGHT + PANEL_GAP) - 20,
    content,
  })
}

interface Place {
  readonly x: number
  readonly y: number
  readonly width: number
  /** The ratio at the top of the axis. */
  readonly top: number
}

function panelSvg({ title, labels, lines }: Panel, { x, y, width, top }: Place): string[] {
  const left = x + AXIS_WIDTH
  const step = (width - AXIS_WIDTH) / labels.length
  const xOf = (index: number) => left + step * (index + 0.5)
  const yOf = (ratio: number) => y + PANEL_HEIGHT * (1 - ratio / top)
  const content = [svgText(title, { x, y: y - 14 })]
  for (let tick = 0; tick <= top; tick++) {
    const at = fixed(yOf(tick))
    content.push(
      `<line class="line" x1="${fixed(left)}" y1="${at}" x2="${fixed(x + width)}" y2="${at}"/>`,
      svgText(`${tick}×`, { x: left - 8, y: yOf(tick) + 4, kind: 'small', anchor: 'end' }),
    )
  }
  for (const [index, label] of labels.entries()) {
    content.push(svgText(label, { x: xOf(index), y: y + PANEL_HEIGHT + LINE_HEIGHT, kind: 'small', anchor: 'middle' }))
  }
  for (const [index, ratios] of lines.entries()) {
    const points = ratios.map((ratio, place) => `${fixed(xOf(place))},${fixed(yOf(ratio))}`)
    content.push(
      `<polyline points="${points.join(' ')}" fill="none" stroke="${COLOURS[index]}" stroke-width="2.5" stroke-linejoin="round"/>`,
    )
    for (const point of points) {
      const [cx, cy] = point.split(',')
      content.push(`<circle cx="${cx}" cy="${cy}" r="3.5" fill="${COLOURS[index]}"/>`)
    }
  }
  return content
}

function describePanel({ title, labels, lines }: Panel, series: readonly string[]): string {
  const each = lines.map((ratios, index) => `${series[index]} ${ratios.map((ratio) => ratio.toFixed(2)).join(', ')}`)
  return `${title} (${labels.join(', ')}): ${each.join('; ')}.`
}

// Both

function heading(title: string, note: string, series: readonly string[]): string[] {
  return [
    svgText(title, { x: MARGIN, y: 30, kind: 'title' }),
    svgText(note, { x: MARGIN, y: 50, kind: 'small' }),
    ...svgLegend(series, { x: MARGIN, y: 76 }),
  ]
}

/** A little more than the highest ratio, and 1 at least. */
function highest(ratios: readonly number[]): number {
  return Math.ceil(Math.max(1, ...ratios) * 10) / 10
}
