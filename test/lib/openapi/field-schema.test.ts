import { Model } from 'objection'
import { describe, expect, it } from 'vitest'
import {
  ArrayField,
  BigIntegerField,
  BinaryField,
  BooleanField,
  ChoiceField,
  DateField,
  DateTimeField,
  DecimalField,
  DurationField,
  EmailField,
  FloatField,
  IntegerField,
  IPAddressField,
  JSONField,
  ModelSerializer,
  MultipleChoiceField,
  ReadOnlyField,
  Serializer,
  type SerializerField,
  SerializerMethodField,
  StringField,
  TimeField,
  URLField,
  UUIDField,
} from '../../../lib/index.js'
import { outputValue, wordsOf } from '../../../lib/openapi/field-schema.js'
import type { BoundField } from '../../../lib/serializers/contract.js'
import { inputValue } from '../../../lib/serializers/input-schema.js'
import { describeTable } from '../../support/described.js'

function bind(field: SerializerField<any, any>): BoundField {
  class Holder extends Serializer {
    static override declaredFields = { value: field }
    getValue() {
      return 1
    }
  }
  return Holder.plan.fields[0] as BoundField
}

describe('a field in a document', () => {
  it.each<[string, SerializerField<any, any>, object, object]>([
    [
      'text',
      new StringField({ minLength: 1, maxLength: 9 }),
      { type: 'string', minLength: 1, maxLength: 9 },
      { type: 'string' },
    ],
    [
      'text that is not blank',
      new StringField({ allowBlank: false }),
      { type: 'string', pattern: '\\S' },
      { type: 'string' },
    ],
    ['an email', new EmailField(), { type: 'string', format: 'email' }, { type: 'string', format: 'email' }],
    [
      'a URL',
      new URLField({ maxLength: 9 }),
      { type: 'string', format: 'uri', maxLength: 9 },
      { type: 'string', format: 'uri' },
    ],
    ['a UUID', new UUIDField(), { type: 'string', format: 'uuid' }, { type: 'string', format: 'uuid' }],
    [
      'an address',
      new IPAddressField(),
      { type: 'string', anyOf: [{ format: 'ipv4' }, { format: 'ipv6' }] },
      { type: 'string', anyOf: [{ format: 'ipv4' }, { format: 'ipv6' }] },
    ],
    [
      'an integer',
      new IntegerField({ minValue: 0, maxValue: 9 }),
      { type: 'integer', format: 'int32', minimum: 0, maximum: 9 },
      { type: 'integer', format: 'int32' },
    ],
    [
      'an int8 with bounds that no number can say',
      new BigIntegerField({ minValue: 1, maxValue: '9223372036854775807' }),
      {
        anyOf: [
          { type: 'integer', format: 'int64', minimum: 1 },
          { type: 'string', pattern: '^-?[0-9]+$' },
        ],
      },
      { anyOf: [{ type: 'integer', format: 'int64' }, { type: 'string' }] },
    ],
    [
      'a float',
      new FloatField({ minValue: 0.5 }),
      { type: 'number', format: 'double', minimum: 0.5 },
      { type: 'number', format: 'double' },
    ],
    [
      'a decimal',
      new DecimalField({ minValue: 0, maxValue: '9.99' as never }),
      { type: 'string', format: 'decimal' },
      { type: 'string', format: 'decimal' },
    ],
    ['a boolean', new BooleanField({ default: false }), { type: 'boolean', default: false }, { type: 'boolean' }],
    [
      'a date',
      new DateField({ default: () => 'x' }),
      { type: 'string', format: 'date' },
      { type: 'string', format: 'date' },
    ],
    [
      'a date and time',
      new DateTimeField(),
      { type: 'string', format: 'date-time' },
      { type: 'string', format: 'date-time' },
    ],
    ['a date and time in an own form', new DateTimeField({ formatStr: '%Y' }), { type: 'string' }, { type: 'string' }],
    ['a time', new TimeField(), { type: 'string', format: 'time-local' }, { type: 'string', format: 'time-local' }],
    ['a duration', new DurationField(), { type: 'string', pattern: expect.any(String) }, { type: 'string' }],
    ['bytes', new BinaryField(), { type: 'string', pattern: expect.any(String) }, { type: 'string' }],
    [
      'a choice',
      new ChoiceField({ choices: ['a', 1] }),
      { type: ['string', 'number'], enum: ['a', 1] },
      { type: ['string', 'number'], enum: ['a', 1] },
    ],
    [
      'a choice or null',
      new ChoiceField({ choices: ['a'], allowNull: true }),
      { type: ['string', 'null'], enum: ['a', null] },
      { type: ['string', 'null'], enum: ['a', null] },
    ],
    [
      'several choices',
      new MultipleChoiceField({ choices: ['a', 'b'] }),
      { type: 'array', items: { type: 'string', enum: ['a', 'b'] } },
      { type: 'array', items: { type: 'string', enum: ['a', 'b'] } },
    ],
    [
      'a list with limits, in and around',
      new ArrayField({ child: new StringField({ maxLength: 3 }), maxLength: 2 }),
      { type: 'array', items: { type: 'string', maxLength: 3 }, maxItems: 2 },
      { type: 'array', items: { type: 'string' } },
    ],
    ['JSON', new JSONField({ allowNull: true }), {}, {}],
    [
      'JSON of a known shape',
      new JSONField({ schema: { type: 'object', minProperties: 1 } }),
      { type: 'object', minProperties: 1 },
      { type: 'object', minProperties: 1 },
    ],
    ['what is computed', new SerializerMethodField(), {}, {}],
    [
      'what is computed, with its type',
      new SerializerMethodField({ schema: { type: 'integer' } }),
      { type: 'integer' },
      { type: 'integer' },
    ],
    ['what is shown as it is', new ReadOnlyField(), {}, {}],
  ])('describes %s, with limits for input only', (_, field, input, output) => {
    expect(inputValue(bind(field), 'Input')).toEqual(input)
    expect(outputValue(bind(field))).toEqual(output)
  })

  it('brings its words', () => {
    expect(wordsOf(new StringField({ label: 'Title', helpText: 'As on the cover.' }))).toEqual({
      title: 'Title',
      description: 'As on the cover.',
    })
    expect(wordsOf(new StringField())).toEqual({})
  })
})

describe('a path of relations in a document', () => {
  const linkTo = (owner: string, modelClass: () => typeof Model) => ({
    relation: Model.BelongsToOneRelation,
    modelClass,
    join: { from: `${owner}s.at_id`, to: `${owner === 'book' ? 'author' : 'place'}s.id` },
  })
  class Place extends Model {
    static override tableName = 'places'
  }
  class Author extends Model {
    static override tableName = 'authors'
    static override relationMappings = { place: linkTo('author', () => Place) }
  }
  class Book extends Model {
    static override tableName = 'books'
    static override relationMappings = { author: linkTo('book', () => Author) }
  }
  describeTable(Place, { id: 'int4', name: 'text', old: 'bool' })
  describeTable(Author, { id: 'int4', at_id: 'int4', name: 'text' })
  describeTable(Book, { id: 'int4', at_id: 'int4', name: 'text' })

  it.each([
    ['author.at_id', { type: ['integer', 'null'] }],
    ['author.place.old', { type: ['boolean', 'null'] }],
  ])('is what the column at its end says: %s', (source, expected) => {
    class BookSerializer extends ModelSerializer<Book> {
      static override model = Book
      static override fields = ['value']
      static override declaredFields = { value: new ReadOnlyField({ source }) }
    }
    expect(outputValue(BookSerializer.plan.fields[0] as BoundField)).toMatchObject(expected)
  })
})
