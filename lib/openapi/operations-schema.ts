/** The body of a JSON patch (RFC 6902) as a document describes it. */
import type { Parser } from '../parsers/parser.js'
import { JsonPatchParser } from '../patches/patch-parsers.js'
import type { Components } from './components.js'
import type { Schema } from './types.js'

const POINTER: Schema = { type: 'string', format: 'json-pointer' }

/** A list of operations, as many as the parser takes. */
export function operationsSchema(components: Components, parser: Parser): Schema {
  const items = components.schema('JsonPatchOperation', {
    oneOf: [
      operation(['add', 'replace', 'test'], { value: {} }),
      operation(['move', 'copy'], { from: POINTER }),
      operation(['remove'], {}),
    ],
  })
  return { type: 'array', items, ...(parser instanceof JsonPatchParser && { maxItems: parser.operations }) }
}

function operation(names: readonly string[], members: Readonly<Record<string, Schema>>): Schema {
  return {
    type: 'object',
    properties: { op: { type: 'string', enum: names }, path: POINTER, ...members },
    required: ['op', 'path', ...Object.keys(members)],
  }
}
