/** Schemas that also allow null. */
import { describe, expect, it } from 'vitest'
import { orNull } from '../../../lib/fields/or-null.js'

describe('orNull()', () => {
  it.each([
    [{ type: 'string' }, { type: ['string', 'null'] }],
    [{ type: ['string', 'null'] }, { type: ['string', 'null'] }],
    [
      { type: 'string', enum: ['a'] },
      { type: ['string', 'null'], enum: ['a', null] },
    ],
    [{ enum: ['a'] }, { anyOf: [{ enum: ['a'] }, { type: 'null' }] }],
    [{ $ref: '#/x' }, { anyOf: [{ $ref: '#/x' }, { type: 'null' }] }],
    [{ anyOf: [{}] }, { anyOf: [{}, { type: 'null' }] }],
    [
      { type: 'string', anyOf: [{}] },
      { type: ['string', 'null'], anyOf: [{}] },
    ],
    [{}, {}],
  ])('makes %j nullable', (schema, nullable) => {
    expect(orNull(schema)).toEqual(nullable)
  })
})
