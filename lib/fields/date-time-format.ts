/** Dates and times in a format of strftime's tokens. */

/** What each token takes from a date and time as the wire shows it: `2026-03-28T15:30:00.1234Z`. */
const TOKENS: ReadonlyMap<string, (text: string) => string> = new Map([
  ['Y', (text: string) => text.slice(0, 4)],
  ['m', (text: string) => text.slice(5, 7)],
  ['d', (text: string) => text.slice(8, 10)],
  ['H', (text: string) => text.slice(11, 13)],
  ['M', (text: string) => text.slice(14, 16)],
  ['S', (text: string) => text.slice(17, 19)],
  ['f', (text: string) => text.slice(20, -1).padEnd(6, '0')],
  ['j', dayOfYear],
  ['z', () => '+0000'],
])
const DAY = 86_400_000

/** Text to be written as it is, and tokens. */
export type DateTimeFormat = readonly (string | ((text: string) => string))[]

/** Reads a format; returns the token that is not known instead, if there is one. */
export function compileDateTimeFormat(format: string): DateTimeFormat | { readonly unknownToken: string } {
  const [start = '', ...pieces] = format.split('%')
  const parts: (string | ((text: string) => string))[] = [start]
  for (const piece of pieces) {
    const token = TOKENS.get(piece.slice(0, 1))
    if (token === undefined) return { unknownToken: `%${piece.slice(0, 1)}` }
    parts.push(token, piece.slice(1))
  }
  return parts
}

/** Writes a date and time of the wire's form in a format. Years beyond 9999, BC and infinities stay as they are. */
export function formatDateTime(text: string, format: DateTimeFormat): string {
  if (text.length < 20 || text.charAt(4) !== '-' || !text.endsWith('Z')) return text
  let formatted = ''
  for (const part of format) formatted += typeof part === 'string' ? part : part(text)
  return formatted
}

function dayOfYear(text: string): string {
  const year = Number(text.slice(0, 4))
  const days = (Date.UTC(year, Number(text.slice(5, 7)) - 1, Number(text.slice(8, 10))) - Date.UTC(year, 0, 1)) / DAY
  return String(days + 1).padStart(3, '0')
}
