/** Formats of JSON Schema as tests hold them. What PostgreSQL may store beyond ISO 8601 passes. */
import type { Format } from 'ajv'

const DATE = String.raw`\d{4,6}-\d{2}-\d{2}`
const TIME = String.raw`\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?`
const FOREVER = '-?infinity'

const text = (source: string): RegExp => new RegExp(`^(?:${source})$`)
const integer = (bits: number) => ({
  type: 'number' as const,
  validate: (value: number) => Number.isInteger(value) && value >= -(2 ** (bits - 1)) && value < 2 ** (bits - 1),
})

/** Formats by name; the others say nothing that could be checked. */
export const formats: Record<string, Format | true> = {
  date: text(`${DATE}(?: BC)?|${FOREVER}`),
  'date-time': text(`${DATE}T${TIME}(?:Z|[+-]\\d{2}:\\d{2}(?::\\d{2})?)?(?: BC)?|${FOREVER}`),
  'time-local': text(TIME),
  uuid: text('[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'),
  decimal: text(String.raw`-?\d+(?:\.\d+)?|NaN|-?Infinity`),
  'uri-reference': text(String.raw`[^\s<>"\\^{|}]*`),
  int16: integer(16),
  int32: integer(32),
  int64: true,
  float: true,
  double: true,
  binary: true,
  email: true,
  ipv4: true,
  ipv6: true,
  uri: true,
}
