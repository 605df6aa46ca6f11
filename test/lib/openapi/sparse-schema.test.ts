/** Schemas of answers that may lack fields. */
import { expect, it } from 'vitest'
import { sparseSchema } from '../../../lib/openapi/sparse-schema.js'
import type { Schema } from '../../../lib/openapi/types.js'

const book = { type: 'object', properties: { id: {}, title: {} }, required: ['id', 'title'] }
const { required: _, ...loose } = book
const race = { type: 'object', properties: { id: {}, results: { type: 'array', items: book } }, required: ['id'] }
const { required: __, ...looseRace } = race
const listOf = (items: Schema) => ({ type: 'array', items })
const holding = (properties: Record<string, Schema>, beside = {}) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  ...beside,
})

it.each<[string, Schema, Schema]>([
  ['an object', book, loose],
  ['a list', listOf(book), listOf(loose)],
  ['a page', holding({ next: {}, results: listOf(book) }), holding({ next: {}, results: listOf(loose) })],
  [
    'the envelope of a list',
    holding({ books: listOf(book), count: {} }, { 'x-holds': 'books' }),
    holding({ books: listOf(loose), count: {} }, { 'x-holds': 'books' }),
  ],
  [
    'the envelope of an object',
    holding({ book }, { 'x-holds': 'book' }),
    holding({ book: loose }, { 'x-holds': 'book' }),
  ],
  ['a list of objects with results', listOf(race), listOf(looseRace)],
  [
    'an object with results in an envelope',
    holding({ race }, { 'x-holds': 'race' }),
    holding({ race: looseRace }, { 'x-holds': 'race' }),
  ],
  [
    'an object whose results are one object',
    holding({ results: book }),
    { type: 'object', properties: { results: book } },
  ],
])('of %s', (_name, schema, sparse) => {
  expect(sparseSchema(schema, (one) => one)).toEqual(sparse)
  const referred: Record<string, Schema> = { '#': schema }
  const resolve = (one: Schema) => (typeof one['$ref'] === 'string' ? (referred[one['$ref']] as Schema) : one)
  expect(sparseSchema({ $ref: '#' }, resolve)).toEqual(sparse)
})
