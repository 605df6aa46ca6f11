/** Presets of `errorShape`: errors as the forms of admin front ends show them. */
import type { ErrorMessages } from './errors.js'
import type { AnsweredError, ErrorShape } from './settings.js'

/** The front ends that there is a preset for. */
export type FormShape = 'react-admin' | 'refine'

const NON_FIELD = 'non_field_errors'

const MEMBERS = {
  message: { type: 'string', description: 'What is wrong.' },
  errors: {
    type: 'object',
    description: 'A message by field; those of nested objects and lists by their path, `author.name`, `tags.0`.',
    additionalProperties: { type: 'string' },
  },
}

/**
 * - `react-admin`: `{ message, errors }`, as its server-side validation reads the body of an `HttpError`. What belongs to no field
 *   is `root.serverError`, which its forms notify of.
 * - `refine`: an `HttpError` of refine, `{ message, statusCode, errors }`. What belongs to no field is the message.
 */
export const FORM_SHAPES: Readonly<Record<FormShape, ErrorShape>> = {
  'react-admin': {
    body: ({ detail, code, errors }) => ({
      message: detail,
      code,
      errors: errors && byPath(errors, 'root.serverError'),
    }),
    schema: schemaOf({}),
  },
  refine: {
    body: ({ detail, status, code, errors }) => {
      const { [NON_FIELD]: message = detail, ...fields } = errors ? byPath(errors, NON_FIELD) : {}
      return { message, statusCode: status, code, errors: errors && fields }
    },
    schema: schemaOf({ statusCode: { type: 'integer', description: 'The status of the answer.' } }),
  },
}

function schemaOf(own: Readonly<Record<string, object>>): Readonly<Record<string, unknown>> {
  const { message, errors } = MEMBERS
  return { type: 'object', properties: { message, ...own, errors }, required: ['message', ...Object.keys(own)] }
}

/** One message for each path; what is wrong with a whole object stands at its own path. */
function byPath(errors: NonNullable<AnsweredError['errors']>, whole: string): Record<string, string> {
  const found = new Map<string, string[]>()
  const add = (messages: ErrorMessages[string], path: readonly string[]): void => {
    if (!Array.isArray(messages)) {
      for (const [name, inner] of Object.entries(messages)) add(inner, name === NON_FIELD ? path : [...path, name])
      return
    }
    const name = path.join('.') || whole
    found.set(name, [...(found.get(name) ?? []), ...messages])
  }
  add(errors, [])
  return Object.fromEntries([...found].map(([name, messages]) => [name, messages.join(' ')]))
}
