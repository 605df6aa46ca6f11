/**
 * The frame of our pictures: a card with a background of its own, so that they can be read wherever a README is shown.
 * Plain shapes and the system's font, no scripts.
 */

/** One colour for each series. All stand out from the light card and from the dark one, for the colour-blind too. */
export const COLOURS: readonly string[] = ['#1f7ae0', '#e07b00', '#0f9d8a', '#b45bcf']

/** The distance from one line of text to the next. */
export const LINE_HEIGHT = 18

const STYLE = `
  text { font: 13px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; fill: #1f2328; }
  .title { font-size: 16px; font-weight: 600; }
  .small { font-size: 12px; fill: #57606a; }
  .card { fill: #ffffff; stroke: #d0d7de; }
  .line { stroke: #d0d7de; fill: none; }
  .reference { stroke: #57606a; stroke-dasharray: 4 3; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .small { fill: #9da7b3; }
    .card { fill: #161b22; stroke: #3d444d; }
    .line { stroke: #3d444d; }
    .reference { stroke: #9da7b3; }
  }
`

export interface Picture {
  readonly title: string
  /** What the picture shows, for those who cannot see it. */
  readonly description: string
  readonly width: number
  readonly height: number
  /** The elements on the card. */
  readonly content: readonly string[]
}

/** A whole SVG document. */
export function svgDocument({ title, description, width, height, content }: Picture): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title description">`,
    `<title id="title">${escapeXml(title)}</title>`,
    `<desc id="description">${escapeXml(description)}</desc>`,
    `<style>${STYLE}</style>`,
    `<rect class="card" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="6"/>`,
    ...content,
    '</svg>',
    '',
  ].join('\n')
}

export interface TextOptions {
  readonly x: number
  readonly y: number
  /** `title` or `small`. @default the ordinary text */
  readonly kind?: 'title' | 'small'
  /** @default 'start' */
  readonly anchor?: 'start' | 'middle' | 'end'
}

/** A line of text. `y` is its baseline. */
export function svgText(text: string, { x, y, kind, anchor = 'start' }: TextOptions): string {
  const attributes = `${kind ? ` class="${kind}"` : ''}${anchor === 'start' ? '' : ` text-anchor="${anchor}"`}`
  return `<text x="${fixed(x)}" y="${fixed(y)}"${attributes}>${escapeXml(text)}</text>`
}

/** Names of series with their colours, beside each other. */
export function svgLegend(names: readonly string[], { x, y }: { x: number; y: number }): string[] {
  let left = x
  return names.flatMap((name, index) => {
    const square = `<rect x="${fixed(left)}" y="${y - 10}" width="11" height="11" rx="2" fill="${COLOURS[index]}"/>`
    const label = svgText(name, { x: left + 17, y })
    left += 41 + name.length * CHARACTER_WIDTH
    return [square, label]
  })
}

/** About the width of a character of ordinary text. */
const CHARACTER_WIDTH = 6.7

/** A number as short as the picture can show it. */
export function fixed(value: number): string {
  return String(Number(value.toFixed(1)))
}

export function escapeXml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
