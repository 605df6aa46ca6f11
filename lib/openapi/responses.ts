/** Answers as a document describes them: what succeeds, and each error with its headers (wire format, sections 6 and 13). */
import { codeOfStatus, knownDetail } from '../kernel/details.js'
import { setting } from '../kernel/settings.js'
import type { Components } from './components.js'
import type { Header, MediaType, Reference, Response, Schema } from './types.js'

interface ErrorDescription {
  /** The name of the component. */
  readonly name: string
  readonly description: string
  /** A `detail` that it may have. */
  readonly detail: string
  /** The kind of body. @default 'Error' */
  readonly body?: 'ValidationError' | 'BulkValidationError'
  readonly headers?: readonly (keyof typeof HEADERS)[]
}

/** What each status says. */
const ERRORS: Readonly<Record<number, ErrorDescription>> = {
  400: {
    name: 'BadRequest',
    description: 'The request is not valid.',
    detail: 'Validation failed',
    body: 'ValidationError',
  },
  401: {
    name: 'Unauthorized',
    description: 'Credentials are missing or wrong.',
    detail: 'Authentication required',
    headers: ['WWW-Authenticate'],
  },
  403: { name: 'Forbidden', description: 'The caller may not do this.', detail: 'Permission denied' },
  404: { name: 'NotFound', description: 'There is no such object, or not for this caller.', detail: 'Not found' },
  406: {
    name: 'NotAcceptable',
    description: 'What `Accept` asks for is not there.',
    detail: 'Not acceptable',
  },
  409: {
    name: 'Conflict',
    description: 'The request does not fit the state of the object.',
    detail: 'Object is referenced by other objects.',
  },
  410: {
    name: 'Gone',
    description: 'This version of the API is no longer there.',
    detail: 'This version of the API is no longer available',
  },
  412: {
    name: 'PreconditionFailed',
    description: 'The object is not in the state that the request names.',
    detail: 'Precondition failed',
  },
  413: { name: 'ContentTooLarge', description: 'The body is too large.', detail: 'Request body too large' },
  415: {
    name: 'UnsupportedMediaType',
    description: 'The body is of a type or coding that is not read.',
    detail: 'Unsupported media type',
    headers: ['Accept-Post', 'Accept-Patch', 'Accept-Encoding'],
  },
  422: {
    name: 'UnprocessableContent',
    description: 'The `Idempotency-Key` was used for another request.',
    detail: 'This Idempotency-Key was used for another request',
  },
  428: {
    name: 'PreconditionRequired',
    description: 'The request must name the state of the object, in `If-Match`.',
    detail: 'Precondition required',
  },
  429: {
    name: 'TooManyRequests',
    description: 'A limit is used up.',
    detail: 'Request was throttled. Retry after 42 seconds',
    headers: ['Retry-After'],
  },
  503: {
    name: 'ServiceUnavailable',
    description: 'The service is away or full for the moment.',
    detail: 'Service temporarily unavailable',
    headers: ['Retry-After'],
  },
}

const BULK: ErrorDescription = {
  name: 'BulkBadRequest',
  description: 'The list or one of its items is not valid; nothing was written.',
  detail: 'Validation failed',
  body: 'BulkValidationError',
}

const REFUSED: ErrorDescription = {
  name: 'Refused',
  description: 'The request was refused.',
  detail: 'Method POST not allowed',
}

const text: Schema = { type: 'string' }

const HEADERS = {
  'Accept-Encoding': { description: 'Content codings that are read.', schema: text },
  'Accept-Patch': { description: 'Media types that PATCH reads.', schema: text },
  'Accept-Post': { description: 'Media types that are read.', schema: text },
  'Cache-Control': { description: 'Who may keep the answer, and for how long.', schema: text },
  'Content-Disposition': { description: 'The name of the file, where the answer is one.', schema: text },
  ETag: { description: 'Names this representation.', schema: text },
  'Idempotency-Replayed': {
    description: 'The answer is that of an earlier request with this `Idempotency-Key`.',
    schema: { type: 'string', const: 'true' },
  },
  Link: { description: 'Where other pages are: `next`, `prev`, `first`, `last` (RFC 8288).', schema: text },
  Location: {
    description: 'The path of the new object.',
    schema: { type: 'string', format: 'uri-reference' },
  },
  'Preference-Applied': { description: 'What of `Prefer` the answer heeds (RFC 7240).', schema: text },
  RateLimit: { description: 'What is left of each limit, and for how many seconds.', schema: text },
  'RateLimit-Policy': { description: 'The limits.', schema: text },
  'Retry-After': {
    description: 'Seconds to wait.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
  },
  'WWW-Authenticate': { description: 'How to authenticate.', required: true, schema: text },
} as const satisfies Record<string, Header>

export type HeaderName = keyof typeof HEADERS

/** References to headers, by name. */
export function headersOf(components: Components, names: readonly HeaderName[]): Record<string, Reference> {
  return Object.fromEntries(names.map((name) => [name, components.header(name, HEADERS[name])]))
}

/** What shapes the answers of an operation that fail. */
interface Failing {
  readonly bulk?: boolean
  readonly throttled?: boolean
  /** The operation may be refused with other statuses, too. */
  readonly others?: boolean
}

/** The answers of an operation that fail, by status; of all of them the same components. */
export function errorResponses(
  components: Components,
  statuses: Iterable<number>,
  { bulk = false, throttled = false, others = false }: Failing = {},
): Record<string, Reference> {
  const described = [...new Set(statuses)].sort((one, other) => one - other)
  const responses = described.map((status): [string, Reference] => {
    const error = (status === 400 && bulk ? BULK : ERRORS[status]) ?? REFUSED
    return [String(status), errorResponse(components, error, status, throttled && status === 429)]
  })
  const refused = () => errorResponse(components, REFUSED, 405)
  // every path can be refused, if only for its method
  if (!described.some((status) => status < 500)) responses.unshift(['405', refused()])
  if (others) responses.push(['default', refused()])
  return Object.fromEntries(responses)
}

const BODILESS: ReadonlySet<string> = new Set(['204', '205', '304'])

/** Answers of the application's own code, by status. */
export function ownResponses(
  components: Components,
  responses: Readonly<Record<number, string>>,
  mediaTypes: readonly string[],
): Record<string, Response> {
  return Object.fromEntries(
    Object.entries(responses).map(([status, description]): [string, Response] => {
      if (BODILESS.has(status)) return [status, { description }]
      if (Number(status) < 400) return [status, { description, ...contentOf(mediaTypes, undefined) }]
      const kind = status === '400' ? 'ValidationError' : 'Error'
      return [status, { description, content: errorContent(components, kind) }]
    }),
  )
}

function errorResponse(components: Components, error: ErrorDescription, status: number, limited = false): Reference {
  const { name, description, detail, body = 'Error', headers = [] } = error
  const own: readonly HeaderName[] = limited ? [...headers, 'RateLimit', 'RateLimit-Policy'] : headers
  return components.response(name, {
    description,
    ...(own.length > 0 && { headers: headersOf(components, own) }),
    content: errorContent(components, body, exampleOf(body, detail, status)),
  })
}

type ErrorKind = 'Error' | 'ValidationError' | 'BulkValidationError'

/** An error in each form that it is answered in. */
function errorContent(components: Components, kind: ErrorKind, example?: unknown): Record<string, MediaType> {
  const plain = { schema: errorSchema(components, kind), ...(example !== undefined && { example }) }
  if (setting('problemDetails') !== true) return { 'application/json': plain }
  return { 'application/json': plain, 'application/problem+json': { schema: problemSchema(components) } }
}

function exampleOf(body: string, detail: string, status: number): unknown {
  if (setting('errorShape')) return undefined
  const code = setting('errorCodes') ? (knownDetail(detail)?.code ?? codeOfStatus(status)) : undefined
  const base = { detail, status, ...(code !== undefined && { code }) }
  if (body === 'ValidationError') return { ...base, errors: { title: ['This field is required.'] } }
  if (body === 'BulkValidationError') return { ...base, errors: { 0: { title: ['This field is required.'] } } }
  return base
}

/** The envelope of errors. */
export function errorSchema(components: Components, kind: ErrorKind): Reference {
  const shape = setting('errorShape')
  if (shape) return components.schema('Error', { ...(shape.schema ?? { type: 'object' }) })
  const base = {
    detail: { type: 'string', description: 'What is wrong.' },
    status: { type: 'integer', description: 'The status of the answer.' },
    ...(setting('errorCodes') && { code: { type: 'string', description: 'What programs know it by.' } }),
  }
  const required = Object.keys(base)
  if (kind === 'Error') return components.schema('Error', { type: 'object', properties: base, required })
  const messages = components.schema('ErrorMessages', {
    type: 'object',
    description: 'Messages by field; those of nested objects by their own fields, those of lists by position.',
    // a schema of objects that holds itself is more than some generators of clients can write down
    additionalProperties: {
      anyOf: [
        { type: 'array', items: { type: 'string' } },
        { type: 'object', additionalProperties: true },
      ],
    },
  })
  const errors =
    kind === 'ValidationError'
      ? { ...messages }
      : {
          type: 'object',
          description: 'Messages by the position of the item; what is wrong with the whole under `non_field_errors`.',
          additionalProperties: { anyOf: [{ ...messages }, { type: 'array', items: { type: 'string' } }] },
        }
  const codes = setting('errorCodes') && {
    codes: { ...errors, description: 'The code of each message, where that stands.' },
  }
  return components.schema(kind, { type: 'object', properties: { ...base, errors, ...codes }, required })
}

/** Names what else an answer may be, for tools that check answers. */
export const OTHER_TYPES = 'x-other-types'

/** The body of an answer. Where it is JSON unless a client asks for another format, clients get the type of JSON alone. */
export function contentOf(mediaTypes: readonly string[], schema: Schema | undefined): Body {
  const [json, others] = [mediaTypes.filter(isJson), mediaTypes.filter((mediaType) => !isJson(mediaType))]
  const body = schema ? { schema } : {}
  // of what may be any type nothing is known
  if (json.length === 0)
    return { content: Object.fromEntries(others.map((one) => [one, one === '*/*' ? {} : { schema: text }])) }
  return {
    content: Object.fromEntries(json.map((one) => [one, body])),
    ...(others.length > 0 && { [OTHER_TYPES]: others }),
  }
}

/** True of JSON, and of formats that are written as JSON. */
export function isJson(mediaType: string): boolean {
  return /[/+]json$/.test(mediaType)
}

type Body = Pick<Response, 'content' | typeof OTHER_TYPES>

/** An answer that succeeds. */
export function success(
  description: string,
  { headers = {}, ...body }: Body & { readonly headers?: Record<string, Reference> } = {},
): Response {
  return { description, ...(Object.keys(headers).length > 0 && { headers }), ...body }
}

const described = (description: string): Schema => ({ type: 'string', description })

/** The schema of a problem. */
function problemSchema(components: Components): Reference {
  const message = {
    type: 'object',
    properties: {
      pointer: described('Where it stands in the body: the fragment of a JSON pointer.'),
      parameter: described('The parameter of the query that it is about.'),
      code: described('Stays the same whatever the words become.'),
      detail: described('What is wrong.'),
    },
    required: ['code', 'detail'],
  }
  const properties = {
    type: { type: 'string', format: 'uri-reference', description: 'What kind of problem it is.' },
    title: described('What the status says.'),
    status: { type: 'integer', description: 'The status of the answer.' },
    detail: described('What is wrong.'),
    code: described('What programs know it by.'),
    instance: { type: 'string', format: 'uri', description: 'Names this answer.' },
    errors: { type: 'array', items: message },
  }
  const required = ['type', 'title', 'status', 'detail', 'instance', 'code']
  return components.schema('Problem', { type: 'object', properties, required })
}
