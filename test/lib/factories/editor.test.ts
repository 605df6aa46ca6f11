/** What an editor shows whoever declares serializers and view sets. */
import { beforeAll, describe, expect, it } from 'vitest'
import { type Editor, openEditor } from '../../support/editor.js'

const MODELS = `
import { modelSerializer, modelViewSet, NestedSerializer, SerializerMethodField } from 'koa-viewsets'
import { Model } from 'objection'
class Author extends Model {
  static override tableName = 'authors'
  declare id: number
  declare name: string
}
class Book extends Model {
  static override tableName = 'books'
  declare id: number
  declare title: string
  declare price: string
  declare published: Date | null
  declare author?: Author
}
class AuthorSerializer extends modelSerializer(Author, { fields: ['id', 'name'] }) {}
class BookSerializer extends modelSerializer(Book, {
  fields: ['id', 'title', 'published', 'label'],
  declaredFields: {
    label: new SerializerMethodField<string>(),
    author: new NestedSerializer(AuthorSerializer, { readOnly: true }),
  },
}) {
  getLabel(book: Book): string {
    return book.title
  }
}
class BookViewSet extends modelViewSet(Book, { serializerClass: BookSerializer }) {}
`

describe('an editor', { timeout: 120_000 }, () => {
  let editor: Editor

  beforeAll(() => {
    editor = openEditor()
  })

  it('shows plain object types over serializer.data and validatedData', () => {
    const file = editor.open(`${MODELS}
      export const shown = new BookSerializer().data
      export const taken = new BookSerializer().validatedData
      export const given = new BookViewSet().getSerializer().data
    `)
    expect(file.errors).toEqual([])
    const whole =
      'id: number; title: string; published: string | null; label: string; author: { id: number; name: string; };'
    for (const name of ['shown', 'given']) {
      expect(oneLine(file.hover(`${name} =`))).toBe(`const ${name}: { ${whole} }`)
    }
    expect(oneLine(file.hover('taken ='))).toBe('const taken: { title: string; published?: string | null; }')
    expect(oneLine(file.hover('data\n'))).not.toMatch(/extends|infer|keyof|Simplify|Shown/)
  })

  it.each([
    ['fields', `modelSerializer(Book, { fields: ['titel'] })`, ['"title"', '"price"', '"published"', '"author"']],
    ['readOnlyFields', `modelSerializer(Book, { fields: ['id'], readOnlyFields: ['titel'] })`, ['"title"']],
    ['filtersetFields', `modelViewSet(Book, { filtersetFields: ['autor__name'] })`, ['"title"', '`author__']],
    ['searchFields', `modelViewSet(Book, { searchFields: ['^nope'] })`, ['"title"', '`author__']],
    ['orderingFields', `modelViewSet(Book, { orderingFields: ['nope'] })`, ['"title"', '"price"']],
    ['ordering', `modelViewSet(Book, { ordering: ['-nope'] })`, ['"-title"', '"-price"']],
    ['lookupField', `modelViewSet(Book, { lookupField: 'slug' })`, ['"title"', '"id"']],
    ['concurrency', `modelViewSet(Book, { concurrency: 'version' })`, ['"title"', '"published"']],
  ])('names those that there are where a name of %s is wrong', (_, code, names) => {
    const { errors } = editor.open(`${MODELS}\nexport const made = ${code}`)
    expect(errors).toHaveLength(1)
    for (const name of names) expect(errors[0]).toContain(name)
  })

  it.each([
    [
      'an option of a field',
      `modelSerializer(Book, { fields: ['title'], extraKwargs: { title: { minLenght: 2 } } })`,
      'minLength',
    ],
    [
      'an option of another kind of field',
      `modelSerializer(Book, { fields: ['id'], extraKwargs: { id: { maxLength: 2 } } })`,
      'maxLength',
    ],
    ['a name of extraKwargs', `modelSerializer(Book, { fields: ['id'], extraKwargs: { titl: {} } })`, 'titl'],
    ['a static', `modelViewSet(Book, { pagination: null })`, 'pagination'],
    ['a relation of expandable', `modelViewSet(Book, { expandable: { autor: AuthorSerializer } })`, 'autor'],
  ])('tells of %s', (_, code, name) => {
    const { errors, underlined } = editor.open(`${MODELS}\nexport const made = ${code}`)
    expect(errors.length).toBeGreaterThan(0)
    expect([...errors, ...underlined].join('\n')).toContain(name)
  })
})

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ')
}
