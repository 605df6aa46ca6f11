/** Bodies and answers in the envelope of their view, in a document. */
import { envelopeSchema } from '../pagination/pagination.js'
import { actionNamed, takesMany } from '../views/actions.js'
import { GenericAPIView } from '../views/generic-api-view.js'
import { resourceOf } from '../views/resource.js'
import { HOLDS } from './sparse-schema.js'
import type { DescribedOperation } from './subject.js'
import type { Schema } from './types.js'

function envelopeOf({ view }: DescribedOperation) {
  return view instanceof GenericAPIView ? resourceOf(view.viewClass).envelope : undefined
}

/** The answer of a standard action in the envelope of its view. @param page the members of a page, where it is one */
export function enclosedAnswer(subject: DescribedOperation, schema: Schema | undefined): Schema | undefined {
  const envelope = envelopeOf(subject)
  const { action } = subject.operation
  const shows = action === 'destroy' ? 'object' : actionNamed(action)?.shows
  if (!envelope || !schema || (shows !== 'object' && shows !== 'list')) return schema
  const name = envelope[shows]
  if (name === undefined) return schema
  const members = shows === 'list' ? (schema['properties'] as Readonly<Record<string, Schema>> | undefined) : undefined
  if (!members) return around(name, schema)
  const { results, ...rest } = members
  if (!results) return schema
  const beside = envelope.meta === undefined ? rest : { [envelope.meta]: envelopeSchema(rest) }
  return { ...envelopeSchema({ [name]: results, ...beside }), [HOLDS]: name }
}

/** The body of a standard action in the envelope of its view. */
export function enclosedBody(subject: DescribedOperation, schema: Schema | undefined): Schema | undefined {
  const envelope = envelopeOf(subject)
  const name = takesMany(subject.operation.action) ? envelope?.list : envelope?.object
  return schema && name !== undefined ? around(name, schema) : schema
}

function around(name: string, schema: Schema): Schema {
  return { ...envelopeSchema({ [name]: schema }), [HOLDS]: name }
}
