/** Flame graphs as SVG: who has called whom from top to bottom, and the wider, the more CPU time. */
import { STEP_NAMES } from './pipeline.js'
import type { Frame, WorkloadProfile } from './profile.js'
import { escapeXml, fixed, LINE_HEIGHT, svgDocument, svgText } from './svg.js'

const WIDTH = 1_000
const MARGIN = 20
/** Deeper calls are part of the last one that is drawn. */
const MOST_LEVELS = 22
/** Narrower ones, too. */
const LEAST_WIDTH = 2
const CHARACTER_WIDTH = 6.9
const TOP = 68
const GAP = 44
const LEGEND_COLUMN = 240

/** Pale, for dark text. One for each step. */
const COLOURS = [
  ...['#a5d8ff', '#ffd8a8', '#ffc9c9', '#d0bfff', '#eebefa', '#b2f2bb', '#c3fae8'],
  ...['#99e9f2', '#ffec99', '#fcc2d7', '#dee2e6', '#e9ecef', '#ced4da', '#d8f5a2', '#f8d7a0', '#ffb3ad'],
]

/** A graph for each workload, below one another, and the colours of the steps. */
export function flameSvg(profiles: readonly WorkloadProfile[]): string {
  const content = [
    svgText('Where the CPU time of a request goes', { x: MARGIN, y: 30, kind: 'title' }),
    svgText('Callers stand above what they call; the wider, the more time. Times are of one request.', {
      x: MARGIN,
      y: 50,
      kind: 'small',
    }),
  ]
  let y = TOP
  for (const { name, cpu, root } of profiles) {
    content.push(svgText(`${name}: ${cpu.toFixed(0)} µs`, { x: MARGIN, y: y + 14 }))
    y += 22
    const scale = (WIDTH - 2 * MARGIN) / root.total
    y += drawLevel(content, root.children, { x: MARGIN, y, scale, level: 1 }) + GAP - 22
  }
  y += legend(content, y)
  return svgDocument({
    title: 'Flame graphs',
    description: profiles.map(({ name, cpu }) => `${name}: ${cpu.toFixed(0)} µs`).join(', '),
    width: WIDTH,
    height: y + MARGIN,
    content,
  })
}

interface Level {
  readonly x: number
  readonly y: number
  /** Width of a microsecond. */
  readonly scale: number
  readonly level: number
}

/** Draws calls beside each other, and what they call below them. Returns the height. */
function drawLevel(content: string[], frames: readonly Frame[], { x, y, scale, level }: Level): number {
  let left = x
  let height = 0
  for (const frame of frames.toSorted((one, other) => other.total - one.total)) {
    const width = frame.total * scale
    if (width < LEAST_WIDTH) break
    content.push(...drawFrame(frame, { x: left, y, width }))
    const below =
      level < MOST_LEVELS
        ? drawLevel(content, frame.children, { x: left, y: y + LINE_HEIGHT, scale, level: level + 1 })
        : 0
    height = Math.max(height, LINE_HEIGHT + below)
    left += width
  }
  return height
}

function drawFrame({ name, step, total }: Frame, { x, y, width }: { x: number; y: number; width: number }): string[] {
  const title = `${name} (${step}): ${total.toFixed(1)} µs`
  const room = Math.floor((width - 6) / CHARACTER_WIDTH)
  const label = name.length <= room ? name : room > 4 ? `${name.slice(0, room - 1)}…` : ''
  return [
    `<g><title>${escapeXml(title)}</title>`,
    `<rect x="${fixed(x)}" y="${y}" width="${fixed(Math.max(width - 0.5, 0.5))}" height="${LINE_HEIGHT - 1}" fill="${colourOf(step)}"/>`,
    ...(label === '' ? [] : [darkText(label, x + 3, y + 13)]),
    '</g>',
  ]
}

function legend(content: string[], y: number): number {
  const columns = Math.floor((WIDTH - 2 * MARGIN) / LEGEND_COLUMN)
  for (const [index, step] of STEP_NAMES.entries()) {
    const x = MARGIN + (index % columns) * LEGEND_COLUMN
    const top = y + Math.floor(index / columns) * (LINE_HEIGHT + 4)
    content.push(`<rect x="${x}" y="${top}" width="14" height="14" rx="2" fill="${colourOf(step)}"/>`)
    content.push(svgText(step, { x: x + 20, y: top + 12 }))
  }
  return Math.ceil(STEP_NAMES.length / columns) * (LINE_HEIGHT + 4)
}

/** Text on a pale rectangle is dark, whatever the card. */
function darkText(text: string, x: number, y: number): string {
  return `<text x="${fixed(x)}" y="${y}" style="fill:#1f2328;font-size:12px">${escapeXml(text)}</text>`
}

function colourOf(step: string): string {
  return COLOURS[STEP_NAMES.indexOf(step)] ?? '#ffffff'
}
