/** The lines that a header came in: of several Node keeps the first, or joins them. */
import type { IncomingMessage } from 'node:http'

/** The values of a header, one for each of its lines; adapters of cloud functions know of no lines. @param name in lower case */
export function headerLines({ headers, rawHeaders }: IncomingMessage, name: string): readonly string[] {
  const value = headers[name]
  if (value === undefined) return []
  const raw = (rawHeaders as readonly string[] | undefined) ?? []
  const lines = raw.filter((_value, index) => index % 2 === 1 && raw[index - 1]?.toLowerCase() === name)
  return lines.length > 1 ? lines : [value].flat()
}
