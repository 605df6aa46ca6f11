/** The options of a field that say what CHECK constraints of its column say. */
import type { Bound, ColumnCheck } from '../models/check-constraint.js'
import type { Column } from '../models/model-description.js'
import { readDecimal } from './decimal-field.js'
import type { GeneratedOptions } from './field-for-column.js'

const TEXTS = new Set(['text', 'varchar'])
/** The most and the least that a column of whole numbers holds. */
const SIZES: ReadonlyMap<string, bigint> = new Map([
  ['int2', 2n ** 15n],
  ['int4', 2n ** 31n],
  ['int8', 2n ** 63n],
])

/**
 * What the constraints ask of values, as far as a field can say just that: nothing that the database would take is refused.
 * The model's schema and the serializer may ask for more.
 */
export function checkedOptions(column: Column): GeneratedOptions {
  const { type, checked, scale } = column
  if (checked.length === 0) return {}
  if (TEXTS.has(type)) return textOptions(column)
  const size = SIZES.get(type)
  if (size !== undefined) return wholeOptions(column, size)
  // without a limit of its own a numeric has no grid
  if (type === 'numeric') return rangeOptions(column, scale !== undefined && scale >= 0 ? scale : undefined)
  return type === 'float8' ? floatOptions(column) : {}
}

function textOptions({ checked, schema, maxLength }: Column): GeneratedOptions {
  const choices = schema.enum === undefined ? choicesOf(checked) : undefined
  if (choices?.every((choice) => choice !== '')) return { choices }
  const least = Math.max(...checked.map(({ minLength = 0 }) => minLength))
  const most = Math.min(...checked.map((check) => check.maxLength ?? Number.POSITIVE_INFINITY))
  return {
    ...(least > 0 && schema.minLength === undefined && least <= most && { minLength: least }),
    ...(most < (maxLength ?? Number.POSITIVE_INFINITY) && { maxLength: most }),
  }
}

function wholeOptions(column: Column, size: bigint): GeneratedOptions {
  const { checked, schema, type } = column
  const choices = schema.enum === undefined ? choicesOf(checked) : undefined
  if (choices && type !== 'int8' && choices.every((choice) => Number.isSafeInteger(Number(choice)))) {
    return { choices: choices.map(Number) }
  }
  return rangeOptions(column, 0, size)
}

/** The strings that all lists of choices have in common. */
function choicesOf(checked: readonly ColumnCheck[]): readonly string[] | undefined {
  const lists = checked.flatMap(({ choices }) => (choices ? [choices] : []))
  const [first, ...others] = lists
  const common = first?.filter((choice) => others.every((list) => list.includes(choice)))
  return common && common.length > 0 ? [...new Set(common)] : undefined
}

/**
 * The closest values on a grid of so many places that the bounds let pass; without a grid only bounds that belong to the
 * range themselves can be said.
 */
function rangeOptions(column: Column, places: number | undefined, size?: bigint): GeneratedOptions {
  const { checked, schema } = column
  const least = checked.flatMap(({ least: bound }) => onGrid(bound, places, 1n) ?? [])
  const greatest = checked.flatMap(({ greatest: bound }) => onGrid(bound, places, -1n) ?? [])
  const most = places ?? Math.max(0, ...[...least, ...greatest].map((bound) => bound.places))
  const scaled = (bound: Scaled) => bound.units * 10n ** BigInt(most - bound.places)
  const inOrder = (bounds: readonly Scaled[]) => bounds.map(scaled).sort((one, other) => (one < other ? -1 : 1))
  const low = inOrder(least).at(-1)
  const [high] = inOrder(greatest)
  if (low !== undefined && high !== undefined && low > high) return {}
  const fits = (value: bigint | undefined): value is bigint =>
    value !== undefined && (size === undefined || (value >= -size && value < size))
  const write = (value: bigint) => (size !== undefined && column.type !== 'int8' ? Number(value) : decimal(value, most))
  return {
    ...(fits(low) && schema.minimum === undefined && { minValue: write(low) as number }),
    ...(fits(high) && schema.maximum === undefined && { maxValue: write(high) as number }),
  }
}

interface Scaled {
  readonly units: bigint
  readonly places: number
}

/** The first value of the grid from the bound on, upwards or downwards. */
function onGrid(bound: Bound | undefined, places: number | undefined, step: 1n | -1n): Scaled | undefined {
  const decimal = bound && readDecimal(bound.value)
  if (!bound || !decimal) return undefined
  const { negative, whole, fraction } = decimal
  const digits = BigInt(whole + fraction) * (negative ? -1n : 1n)
  if (places === undefined) return bound.exclusive ? undefined : { units: digits, places: fraction.length }
  if (fraction.length <= places) {
    const units = digits * 10n ** BigInt(places - fraction.length)
    return { units: bound.exclusive ? units + step : units, places }
  }
  const factor = 10n ** BigInt(fraction.length - places)
  const rest = ((digits % factor) + factor) % factor
  if (rest === 0n) return { units: digits / factor + (bound.exclusive ? step : 0n), places }
  const floor = (digits - rest) / factor
  return { units: step === 1n ? floor + 1n : floor, places }
}

function decimal(units: bigint, places: number): string {
  const digits = (units < 0n ? -units : units).toString().padStart(places + 1, '0')
  const sign = units < 0n ? '-' : ''
  return places === 0 ? sign + digits : `${sign}${digits.slice(0, -places)}.${digits.slice(-places)}`
}

/** Bounds that belong to the range themselves: between two numbers there may be others. */
function floatOptions({ checked, schema }: Column): GeneratedOptions {
  const inclusive = (bound: Bound | undefined) => (bound && !bound.exclusive ? [Number(bound.value)] : [])
  const least = Math.max(...checked.flatMap(({ least: bound }) => inclusive(bound)))
  const greatest = Math.min(...checked.flatMap(({ greatest: bound }) => inclusive(bound)))
  if (least > greatest) return {}
  return {
    ...(Number.isFinite(least) && schema.minimum === undefined && { minValue: least }),
    ...(Number.isFinite(greatest) && schema.maximum === undefined && { maxValue: greatest }),
  }
}
