/** Warning of a missing GRANT: who asks is answered 401 or 403, as if it were refused on purpose. */

import { warnOnce } from '../kernel/warn-once.js'
import { type NativeError, nativeMessage } from './native-error.js'

/** PostgreSQL's routine that looks for rights on tables, columns, sequences and functions. */
const GRANT_CHECK = 'aclcheck_error'

/** Warns once of each right that is missing; what policies and triggers refuse is no such error. */
export function warnOfMissingGrant(error: NativeError): void {
  if (error.routine !== GRANT_CHECK) return
  warnOnce(
    'KOA_VIEWSETS_MISSING_GRANT',
    `PostgreSQL has refused a statement (SQLSTATE 42501): ${nativeMessage(error)}. Such requests are answered 401 or 403; ` +
      'where callers should have this right, GRANT it to their role, or to the login for what runs outside of it.',
  )
}
