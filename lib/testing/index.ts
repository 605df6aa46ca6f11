/** What tests of an application use. */
export { type Exchange, type TestedDocument, validateResponse } from './validate-response.js'
