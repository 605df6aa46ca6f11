/** Errors as problems (RFC 9457) in a document. */

import type { Components } from './components.js'
import type { Reference, Schema } from './types.js'

const text = (description: string): Schema => ({ type: 'string', description })

/** The schema of a problem. */
export function problemSchema(components: Components): Reference {
  const message = {
    type: 'object',
    properties: {
      pointer: text('Where it stands in the body: the fragment of a JSON pointer.'),
      parameter: text('The parameter of the query that it is about.'),
      code: text('Stays the same whatever the words become.'),
      detail: text('What is wrong.'),
    },
    required: ['code', 'detail'],
  }
  const properties = {
    type: { type: 'string', format: 'uri-reference', description: 'What kind of problem it is.' },
    title: text('What the status says.'),
    status: { type: 'integer', description: 'The status of the answer.' },
    detail: text('What is wrong.'),
    code: text('What programs know it by.'),
    instance: { type: 'string', format: 'uri', description: 'Names this answer.' },
    errors: { type: 'array', items: message },
  }
  const required = ['type', 'title', 'status', 'detail', 'instance', 'code']
  return components.schema('Problem', { type: 'object', properties, required })
}
