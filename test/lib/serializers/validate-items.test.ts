/** What is wrong with objects: by field, by position in a list, and by the place of what is nested in them. */
import { ArrayField, IntegerField, NestedSerializer, Serializer, StringField, ValidationError } from 'koa-viewsets'
import { describe, expect, it } from 'vitest'

class Tag extends Serializer {
  static override declaredFields = { slug: new StringField({ maxLength: 3 }) }
}
class Page extends Serializer {
  static override declaredFields = {
    n: new IntegerField({ minValue: 1 }),
    tags: new NestedSerializer(Tag, { many: true, required: false, maxItems: 2 }),
  }
}
class Book extends Serializer {
  static override declaredFields = {
    title: new StringField(),
    isbn: new StringField({ required: false, allowNull: true, minLength: 3 }),
    state: new StringField({ default: 'draft' }),
    marks: new ArrayField({ child: new IntegerField(), required: false }),
    cover: new NestedSerializer(Tag, { required: false, allowNull: true }),
    pages: new NestedSerializer(Page, { many: true, required: false }),
  }
  validateTitle(title: string): string {
    if (title === 'taken') throw new ValidationError('Taken.')
    return title.trim()
  }
  override validate(values: Record<string, unknown>): Record<string, unknown> {
    if (values['isbn'] && values['title'] === values['isbn']) throw new ValidationError({ isbn: ['Is the title.'] })
    return values
  }
}

const REQUIRED = ['This field is required.']
const NOT_NULL = ['This field may not be null.']
const NO_OBJECT = { non_field_errors: ['Expected an object.'] }

describe('input', () => {
  it.each<[string, unknown, object]>([
    ['takes defaults', { title: 'a' }, { title: 'a', state: 'draft' }],
    [
      'keeps null where it may be',
      { title: 'a', isbn: null, cover: null },
      { title: 'a', isbn: null, cover: null, state: 'draft' },
    ],
    ['leaves out what is no field', { title: 'a', id: 1, constructor: 1 }, { title: 'a', state: 'draft' }],
    ['keeps what hooks return', { title: ' a ' }, { title: 'a', state: 'draft' }],
    [
      'is as deep as its fields',
      { title: 'a', pages: [{ n: 1, tags: [{ slug: 'x' }] }, { n: 2 }] },
      { title: 'a', state: 'draft', pages: [{ n: 1, tags: [{ slug: 'x' }] }, { n: 2 }] },
    ],
  ])('%s', async (_, inputData, values) => {
    const serializer = new Book({ inputData })
    expect(await serializer.isValid()).toBe(true)
    expect(serializer.validatedData).toEqual(values)
  })

  it.each<[string, unknown, object]>([
    ['lacks a field', {}, { title: REQUIRED }],
    [
      'is null where it must not be',
      { title: null, marks: null, pages: null },
      { title: NOT_NULL, marks: NOT_NULL, pages: NOT_NULL },
    ],
    [
      'is of another type',
      { title: 1, marks: ['x', 1, {}] },
      {
        title: ['Not a valid string.'],
        marks: { 0: ['A valid integer is required.'], 2: ['A valid integer is required.'] },
      },
    ],
    ['is too short', { title: 'a', isbn: '1' }, { isbn: ['Ensure this field has at least 3 characters.'] }],
    ['is refused by a hook of a field', { title: 'taken' }, { title: ['Taken.'] }],
    ['is refused by a hook of all', { title: 'abc', isbn: 'abc' }, { isbn: ['Is the title.'] }],
    ['is refused before hooks of all', { title: 'taken', isbn: 'taken' }, { title: ['Taken.'] }],
    ['has no object where one is', { title: 'a', cover: 'x' }, { cover: NO_OBJECT }],
    ['has no list where one is', { title: 'a', pages: {} }, { pages: ['Expected a list of items.'] }],
    [
      'is wrong inside an object',
      { title: 'a', cover: { slug: 'long' } },
      { cover: { slug: ['Ensure this field has no more than 3 characters.'] } },
    ],
    [
      'is wrong inside lists, by position',
      { title: 'a', pages: [{ n: 1 }, { n: 0 }, 'x', { n: 1, tags: [{ slug: 'a' }, {}] }] },
      {
        pages: {
          1: { n: ['Ensure this value is at least 1.'] },
          2: NO_OBJECT,
          3: { tags: { 1: { slug: REQUIRED } } },
        },
      },
    ],
    [
      'has too many in a list',
      { title: 'a', pages: [{ n: 1, tags: [{}, {}, {}] }] },
      { pages: { 0: { tags: ['Ensure this field has no more than 2 items.'] } } },
    ],
    ['is a list', [], NO_OBJECT],
    ['is a string', 'x', NO_OBJECT],
    ['is null', null, NO_OBJECT],
  ])('that %s is refused', async (_, inputData, errors) => {
    const serializer = new Book({ inputData })
    expect(await serializer.isValid()).toBe(false)
    expect(serializer.errors).toEqual(errors)
  })
})

describe('a list of input', () => {
  it('is refused by positions, and has no data', async () => {
    const serializer = new Book({ inputData: [{ title: 'a' }, {}, 1], many: true })
    expect(await serializer.isValid()).toBe(false)
    expect(serializer.errors).toEqual({ 1: { title: REQUIRED }, 2: NO_OBJECT })
  })
})

describe('partial input', () => {
  it.each<[string, unknown, object]>([
    ['may lack any field, and takes no defaults', {}, {}],
    ['must have all of what is new inside', { pages: [{}] }, { pages: { 0: { n: REQUIRED } } }],
    ['is checked as any other', { title: 1 }, { title: ['Not a valid string.'] }],
  ])('%s', async (_, inputData, errors) => {
    const serializer = new Book({ inputData, partial: true })
    await serializer.isValid()
    expect(serializer.errors ?? {}).toEqual(errors)
  })
})
