/** Schemas of other libraries (zod, valibot, arktype …) by the interface that they share: version 1 of https://standardschema.dev. */

import { type ErrorMessages, type GivenErrors, MOST_MESSAGES } from './errors.js'
import { getOrInsert } from './maps.js'

/** What a schema says is wrong. */
export interface SchemaIssue {
  readonly message: string
  /** The names and positions that lead to it, as they are or as `{ key }`; missing for the value as a whole. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** A value that a schema has taken, or what it says is wrong. */
export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

/** What a schema is asked for its JSON Schema with. */
export interface JsonSchemaOptions {
  readonly target: 'draft-2020-12'
  readonly libraryOptions?: Record<string, unknown> | undefined
}

/**
 * A schema of any library that follows Standard Schema: `z.object({ … })` of zod, `v.object({ … })` of valibot, `type({ … })`
 * of arktype. It is known by its member `~standard`.
 */
export interface StandardSchema<Input = unknown, Output = unknown> {
  /** What Standard Schema asks for: version 1, the name of the library, and the function that validates. */
  readonly '~standard': {
    readonly version: 1
    /** The library's name. */
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
    /** Types only. */
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
    /** What it says in JSON Schema of what it takes, and of what it makes, where it can. */
    readonly jsonSchema?: {
      input(options: JsonSchemaOptions): Record<string, unknown>
      output(options: JsonSchemaOptions): Record<string, unknown>
    }
  }
}

/** True for a schema of any library. */
export function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  const { '~standard': standard } = value as Partial<StandardSchema>
  return standard?.version === 1 && typeof standard.validate === 'function'
}

/** What a schema makes of a value. A promise only where the schema gives one. @throws whatever the application's own code in it throws */
export function askSchema(
  schema: StandardSchema,
  value: unknown,
): SchemaResult<unknown> | Promise<SchemaResult<unknown>> {
  return hasAsyncParse(schema) ? parseAsync(schema, value) : schema['~standard'].validate(value)
}

/** What a schema found wrong, as a serializer reports it: by name, and by position in lists (promise R10). */
export function toGivenErrors(issues: readonly SchemaIssue[]): GivenErrors {
  const root = newNode()
  for (const { message, path = [] } of issues.slice(0, MOST_MESSAGES)) {
    let node = root
    for (const step of path) {
      const name = String(typeof step === 'object' ? step.key : step)
      node = getOrInsert(node.below, name, newNode)
    }
    node.own.push(String(message))
  }
  return root.own.length + root.below.size === 0 ? ['Invalid value.'] : messagesOf(root)
}

/**
 * The JSON Schema 2020-12 of what a schema takes, or of what it makes; undefined where it says none. What JSON Schema has no
 * words for (a check by a function, what a value is made into) is left open.
 */
export function jsonSchemaOf(
  schema: StandardSchema,
  side: 'input' | 'output' = 'input',
): Readonly<Record<string, unknown>> | undefined {
  try {
    const { $schema: _dialect, ...described } =
      schema['~standard'].jsonSchema?.[side]({ target: 'draft-2020-12', libraryOptions: LENIENT }) ?? {}
    return Object.keys(described).length === 0 ? undefined : described
  } catch {
    // it has no JSON Schema: only its messages say what it is of
    return undefined
  }
}

/** In place of an error, an open schema for a part that has no JSON Schema: of zod, of valibot, and of arktype. */
const LENIENT: Record<string, unknown> = {
  unrepresentable: 'any',
  errorMode: 'ignore',
  fallback: ({ base }: { readonly base: unknown }) => base,
}

interface ParsingSchema {
  safeParseAsync(
    value: unknown,
  ): Promise<
    | { readonly success: true; readonly data: unknown }
    | { readonly success: false; readonly error: { readonly issues: readonly SchemaIssue[] } }
  >
}

/**
 * zod's `validate` tries first whether a schema can do without waiting. That calls checks that do wait twice, and one that
 * fails leaves a rejection that nobody waits for, which ends the process.
 */
function hasAsyncParse(schema: StandardSchema): schema is StandardSchema & ParsingSchema {
  return schema['~standard'].vendor === 'zod' && typeof (schema as Partial<ParsingSchema>).safeParseAsync === 'function'
}

async function parseAsync(schema: ParsingSchema, value: unknown): Promise<SchemaResult<unknown>> {
  const result = await schema.safeParseAsync(value)
  return result.success ? { value: result.data } : { issues: result.error.issues }
}

interface Node {
  readonly own: string[]
  readonly below: Map<string, Node>
}

function newNode(): Node {
  return { own: [], below: new Map() }
}

function messagesOf({ own, below }: Node): string[] | ErrorMessages {
  if (below.size === 0) return own
  const inner = [...below].map(([name, node]): [string, string[] | ErrorMessages] => [name, messagesOf(node)])
  return Object.fromEntries(own.length > 0 ? [['non_field_errors', own], ...inner] : inner)
}
