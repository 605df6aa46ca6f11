/** Forms are read by the JSON Schema of each library, whatever words it has for the same. */
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { FieldSchema } from '../../../lib/fields/field.js'
import { jsonSchemaOf, type StandardSchema } from '../../../lib/kernel/standard-schema.js'
import { checkSerializer } from '../../../lib/serializers/check-serializer.js'
import { SchemaForm } from '../../../lib/serializers/schema-form.js'
import { serializerOfSchema } from '../../../lib/serializers/schema-serializer.js'

const read = (schema: StandardSchema | FieldSchema, form: unknown) =>
  new SchemaForm('~standard' in schema ? (jsonSchemaOf(schema as StandardSchema) ?? {}) : schema).read(form)

const NULLABLE: [string, StandardSchema][] = [
  [
    'zod',
    z.object({
      n: z.number().nullable(),
      b: z.boolean().nullable(),
      l: z.array(z.number()).nullable(),
      o: z.object({ n: z.number() }).nullable(),
      e: z.enum(['a', 'b']).nullable(),
      t: z.string().nullable(),
    }),
  ],
  [
    'valibot',
    toStandardJsonSchema(
      v.object({
        n: v.nullable(v.number()),
        b: v.nullish(v.boolean()),
        l: v.nullable(v.array(v.number())),
        o: v.nullable(v.object({ n: v.number() })),
        e: v.nullable(v.picklist(['a', 'b'])),
        t: v.nullable(v.string()),
      }),
    ),
  ],
  [
    'arktype',
    type({
      n: 'number | null',
      b: 'boolean | null',
      l: 'number[] | null',
      o: type({ n: 'number' }).or('null'),
      e: "'a' | 'b' | null",
      t: 'string | null',
    }),
  ],
]

describe.each(NULLABLE)('what may be null by %s', (_library, schema) => {
  it('is read as what it is beside that, and null where it is empty', () => {
    expect(read(schema, { n: '5', b: 'on', l: ['1', '2'], o: { n: '3' }, e: 'a', t: 'x' })).toEqual({
      n: 5,
      b: true,
      l: [1, 2],
      o: { n: 3 },
      e: 'a',
      t: 'x',
    })
    expect(read(schema, { n: '', b: '', l: '7', o: '{"n":1}', e: '', t: '' })).toEqual({
      n: null,
      b: null,
      l: [7],
      o: { n: 1 },
      e: null,
      t: '',
    })
  })
})

const KINDS: [string, StandardSchema][] = [
  [
    'zod',
    z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('a'), value: z.number() }),
      z.object({ kind: z.literal('b'), value: z.string(), open: z.boolean() }),
    ]),
  ],
  [
    'valibot',
    toStandardJsonSchema(
      v.variant('kind', [
        v.object({ kind: v.literal('a'), value: v.number() }),
        v.object({ kind: v.literal('b'), value: v.string(), open: v.boolean() }),
      ]),
    ),
  ],
  ['arktype', type({ kind: "'a'", value: 'number' }).or({ kind: "'b'", value: 'string', open: 'boolean' })],
]

describe.each(KINDS)('one of several objects by %s', (_library, schema) => {
  it('is read as the one that it is', () => {
    expect(read(schema, { kind: 'a', value: '5' })).toEqual({ kind: 'a', value: 5 })
    expect(read(schema, { kind: 'b', value: '5', open: 'true' })).toEqual({ kind: 'b', value: '5', open: true })
    expect(read(schema, { kind: 'c', open: 'true' })).toEqual({ kind: 'c', open: true })
  })
})

const tree: z.ZodType = z.object({ n: z.number(), kids: z.array(z.lazy(() => tree)) })

describe('a value', () => {
  it.each<[string, StandardSchema | FieldSchema, unknown, unknown]>([
    ['of one type or another', z.object({ a: z.union([z.number(), z.boolean()]) }), { a: 'true' }, { a: true }],
    ['that may be a text', z.object({ a: z.union([z.number(), z.string()]) }), { a: 'x' }, { a: 'x' }],
    ['or several', z.object({ a: z.union([z.number(), z.array(z.number())]) }), { a: ['1', '2'] }, { a: [1, 2] }],
    ['of a name elsewhere', z.object({ a: z.number().meta({ id: 'Count' }) }), { a: '1' }, { a: 1 }],
    ['of a name with a percent sign', z.object({ a: z.number().meta({ id: '100%' }) }), { a: '1' }, { a: 1 }],
    [
      'of a name that is encoded',
      { type: 'object', properties: { a: { $ref: '#/$defs/%C3%A4%20~1' } }, $defs: { 'ä /': { type: 'number' } } },
      { a: '1' },
      { a: 1 },
    ],
    [
      'like the whole',
      tree,
      { n: '1', kids: [{ n: '2', kids: [{ n: '3' }] }] },
      { n: 1, kids: [{ n: 2, kids: [{ n: 3 }] }] },
    ],
    ['of any name', z.record(z.string(), z.number()), { a: '1', toString: '2' }, { a: 1, toString: 2 }],
    ['of any other name', z.object({ a: z.string() }).catchall(z.boolean()), { a: '1', b: 'on' }, { a: '1', b: true }],
    [
      'in a list in a list',
      z.object({ a: z.array(z.array(z.number())) }),
      { a: [['1', '2'], ['3']] },
      { a: [[1, 2], [3]] },
    ],
    ['that should be no list', z.object({ a: z.array(z.number()) }), { a: [['1', '2']] }, { a: [[1, 2]] }],
    ['in a tuple', z.object({ a: z.tuple([z.number(), z.boolean()]) }), { a: ['1', 'on'] }, { a: [1, true] }],
    [
      'of both',
      toStandardJsonSchema(v.intersect([v.object({ a: v.number() }), v.object({ b: v.boolean() })])),
      { a: '1', b: 'on' },
      { a: 1, b: true },
    ],
    [
      'that is one of some',
      { properties: { a: { enum: [1, 2] }, b: { const: true } } },
      { a: '1', b: 'on' },
      { a: 1, b: true },
    ],
    [
      'of anything',
      { properties: { a: true, b: false, c: {} } },
      { a: '1', b: '1', c: '1' },
      { a: '1', b: '1', c: '1' },
    ],
    [
      'that leads nowhere',
      { $ref: '#/x', anyOf: [{ $ref: '#' }], properties: { a: { $ref: 'y' } } },
      { a: '1' },
      { a: '1' },
    ],
    ['that cannot be read', z.object({ a: z.array(z.number()) }), { a: ['1', 'x'] }, { a: [1, 'x'] }],
  ])('%s is read', (_what, schema, form, expected) => {
    expect(read(schema, form)).toEqual(expected)
  })
})

it('may be said by true and false, as members of any schema', () => {
  const input = () => ({ type: 'object', properties: { a: true, b: false } })
  const jsonSchema = { input, output: input }
  const schema = { '~standard': { version: 1, vendor: 'own', validate: () => ({ value: 1 }), jsonSchema } } as const
  expect(() => checkSerializer(serializerOfSchema(schema))).not.toThrow()
})
