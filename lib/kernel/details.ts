/** The `detail`s of errors, by the stable code of each sentence (docs/reference/error-codes.md). */
import { STATUS_CODES } from 'node:http'
import { sentencesOf } from './messages.js'

/** The sentences by code; `{name}` stands for what is another each time. */
export const DETAILS = {
  authentication_failed: ['Invalid token', 'Invalid API key', 'Invalid signature'],
  bulk_too_large: ['Bulk size {size} exceeds maximum of {max}.'],
  changed: ['Object was changed by another request.', 'The related object was changed by another request.'],
  content_too_large: [
    'Request body too large',
    'Request body is compressed more than {max} times',
    'Files have more than {max} bytes together',
    'More than {max} fields',
  ],
  cursor_in_use: ['Cursor is in use by another request'],
  cursor_too_long: ['Ordering value too long for a cursor'],
  error: ['Internal server error'],
  gone: ['This version of the API is no longer available'],
  idempotency_key_in_use: ['A request with this Idempotency-Key is being processed'],
  idempotency_key_required: ['Idempotency-Key is required'],
  idempotency_key_reused: ['This Idempotency-Key was used for another request'],
  idempotency_not_kept: ['The request was carried out, and its answer was not kept'],
  invalid_idempotency_key: [
    'Idempotency-Key must be sent once',
    'Malformed Idempotency-Key',
    'Idempotency-Key has more than {max} characters',
  ],
  invalid_search: ['Invalid search pattern.', 'Invalid search query.'],
  malformed_authorization: ['Malformed Authorization header'],
  method_not_allowed: ['Method {method} not allowed'],
  not_acceptable: ['Not acceptable', 'Unknown API version', 'Unknown API version. Available versions: {versions}'],
  not_authenticated: ['Authentication required'],
  not_found: ['Not found', 'Invalid page', 'Cursor not found'],
  parse_error: [
    'Malformed JSON',
    'Malformed form',
    'Malformed multipart body',
    'Malformed body',
    'Expected an object',
    'Expected a body of JSON',
    'JSON is nested deeper than {max} levels',
    'JSON has more than {max} values and names',
    'Form is nested deeper than {max} levels',
    'More than {max} values and names in {name}',
    '{name} stands with brackets and without',
    'Number what is in {name}, as in [0]',
    'Request body is nested too deeply',
    'Request aborted',
  ],
  patch_conflict: ['The patch does not fit the object.'],
  permission_denied: ['Permission denied', 'You may not set: {names}'],
  precondition_failed: ['Precondition failed'],
  precondition_required: ['Precondition required'],
  range_not_satisfiable: ['Range not satisfiable'],
  referenced: ['Object is referenced by other objects.'],
  throttled: ['Request was throttled. Retry after {wait} seconds'],
  too_many_cursors: ['Maximum {max} concurrent server cursors per user'],
  too_many_parameters: ['Give at most {max} parameters.'],
  unavailable: ['Service temporarily unavailable'],
  unsupported_media_type: ['Unsupported media type'],
  validation_failed: ['Validation failed'],
} as const satisfies Record<string, readonly string[]>

/** The code of a `detail` of the package. */
export type DetailCode = keyof typeof DETAILS

/** The code and parameters of a `detail`; undefined for one that is none of the package's sentences. */
export const knownDetail = sentencesOf<DetailCode>(DETAILS)

/** Codes of statuses that differ from their reason phrase: those of Django REST framework, or of RFC 9110. */
const BY_STATUS: Readonly<Record<number, string>> = {
  401: 'authentication_failed',
  403: 'permission_denied',
  413: 'content_too_large',
  418: 'teapot',
  422: 'unprocessable_content',
  429: 'throttled',
  500: 'error',
  503: 'unavailable',
}

/** The code of an application's own `detail`: that of its status, such as `conflict`. */
export function codeOfStatus(status: number): string {
  return BY_STATUS[status] ?? (STATUS_CODES[status] ?? 'error').toLowerCase().replace(/[^a-z0-9]+/g, '_')
}
