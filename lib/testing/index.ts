/** Helpers for tests of an application. */
export { type Exchange, type TestedDocument, validateResponse } from './validate-response.js'
