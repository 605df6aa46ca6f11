/** Columns of type json and jsonb. */
import { type FieldOptions, type FieldSchema, SerializerField } from './field.js'
import { checkJson, readJson } from './json-text.js'
import type { ClosedOptions } from './options.js'

/** Any JSON value, at most 64 levels deep. A text from a form is read as JSON. */
export class JSONField<const Options extends FieldOptions = {}> extends SerializerField<
  unknown,
  Options & FieldOptions
> {
  constructor(options: ClosedOptions<Options, FieldOptions> = {} as ClosedOptions<Options, FieldOptions>) {
    super(options)
  }

  override toInternalValue(value: unknown): unknown {
    checkJson(value)
    return value
  }

  override fromText(text: string): unknown {
    return readJson(text)
  }

  override schema(): FieldSchema {
    return {}
  }
}
