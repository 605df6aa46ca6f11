/** Columns of type point and circle. */
import { takesOptions } from '../kernel/option-kinds.js'
import { StringField } from './string-field.js'

/**
 * A point or a circle as PostgreSQL writes it, `(1,2)` and `<(1,2),3>`, as any other type without a field of its own.
 * These two pg reads as objects.
 */
export class GeometryField extends StringField {
  override get takesEmptyText(): boolean {
    return false
  }

  override toRepresentation(value: unknown): unknown {
    if (!isShape(value)) return super.toRepresentation(value)
    const centre = `(${write(value.x)},${write(value.y)})`
    return value.radius === undefined ? centre : `<${centre},${write(value.radius)}>`
  }
}

takesOptions(GeometryField, {})

interface Shape {
  readonly x: number
  readonly y: number
  readonly radius?: number
}

function isShape(value: unknown): value is Shape {
  const { x, y } = value as { x?: unknown; y?: unknown }
  return typeof x === 'number' && typeof y === 'number'
}

/** A number as text, which does not lose the sign of zero. */
function write(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value)
}
