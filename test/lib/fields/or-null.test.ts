/** Schemas that also allow null. */
import { describe, expect, it } from 'vitest'
import { isListOrNull, orNull } from '../../../lib/fields/or-null.js'

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

describe('isListOrNull()', () => {
  const list = { type: 'array', items: { type: 'string' } }
  it.each([
    [list, true],
    [orNull(list), true],
    [{ anyOf: [list, { type: 'null' }] }, true],
    [{ anyOf: [list, { type: 'string' }] }, false],
    [{ anyOf: [list, {}] }, false],
    [{ type: ['string', 'null'] }, false],
    [{ type: 'null' }, false],
    [{}, false],
  ])('of %j is %s', (schema, expected) => {
    expect(isListOrNull(schema)).toBe(expected)
  })
})
