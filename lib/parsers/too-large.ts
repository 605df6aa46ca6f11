/** The answer for a body beyond a limit of bytes. */
import { ApiError } from '../kernel/errors.js'

/** 413. */
export function tooLarge(): ApiError {
  return new ApiError(413, 'Request body too large')
}
