/** What TypeScript knows of schemas of zod, valibot and arktype, and what it refuses. Checked by `tsc`, never run. */
import { type } from 'arktype'
import {
  APIRouter,
  ArrayField,
  action,
  type Input,
  IntegerField,
  listAction,
  type ModelViewSet,
  modelSerializer,
  modelViewSet,
  objectAction,
  Serializer,
  type StandardSchema,
  StringField,
  type Validator,
} from 'koa-viewsets'
import { createClient } from 'koa-viewsets/client'
import { Model } from 'objection'
import * as v from 'valibot'
import { z } from 'zod'
import type { Given } from '../../lib/serializers/types.js'

type Equal<Left, Right> = (<T>() => T extends Left ? 1 : 2) extends <T>() => T extends Right ? 1 : 2 ? true : false
const is = <_Holds extends true>(): void => undefined

class Book extends Model {
  static override tableName = 'books'
  declare id: number
  declare title: string
  declare pages: number
}

class Note extends Model {
  static override tableName = 'notes'
  declare stars: number | null
  declare text: string
}

const zodInput = z.object({ on: z.iso.date().transform((day) => new Date(day)), note: z.string().optional() })
const zodOutput = z.object({ on: z.date().transform((day) => day.getTime()), note: z.string().optional() })
const valibotInput = v.object({ on: v.pipe(v.string(), v.transform(Number)) })
const arktypeInput = type({ on: 'string.numeric.parse', 'note?': 'string' })

/** Of each library. */
export const schemas: readonly StandardSchema[] = [zodInput, valibotInput, arktypeInput]

class BookSerializer extends modelSerializer(Book, {
  fields: ['id', 'title', 'pages'],
  extraKwargs: {
    title: { validators: [z.string().transform((title) => title.length)] },
    pages: { validators: [z.number()] },
  },
}) {}
is<Equal<Input<typeof BookSerializer>, { title: number; pages: number }>>()

class RangedSerializer extends modelSerializer(Book, {
  fields: ['title', 'pages'],
  validators: [z.object({ pages: z.number().transform(String) }), (data: { pages: string }) => void data],
}) {}
is<Equal<Input<typeof RangedSerializer>, { title: string; pages: string }>>()

// null is what no validator is asked of
class NullableSerializer extends modelSerializer(Note, {
  fields: ['stars', 'text'],
  declaredFields: { tag: new StringField({ validators: [z.enum(['a', 'b']).transform(Number)], allowNull: true }) },
  extraKwargs: {
    stars: { validators: [(stars: number) => void stars, z.number().transform(String)] },
    text: { validators: [z.coerce.number()] },
  },
}) {}
is<Equal<Input<typeof NullableSerializer>, { text: number; tag: number | null; stars?: string | null }>>()

class FieldsSerializer extends Serializer {
  static override declaredFields = {
    name: new StringField({ validators: [z.string().min(2), v.pipe(v.string(), v.transform(Number))] }),
    plain: new StringField({ validators: [(value: string) => void value] }),
    count: new IntegerField({ validators: [type('number > 3')], allowNull: true }),
    tags: new ArrayField({
      child: new StringField(),
      validators: [z.array(z.string()).transform((tags) => new Set(tags))],
    }),
  }
  static override validators: readonly Validator[] = [z.object({ name: z.number() })]
}
is<Equal<Input<typeof FieldsSerializer>, { name: number; plain: string; count: number | null; tags: Set<string> }>>()

// items are what the schemas of their field make, at any depth, and what is made of the list follows
const day = new StringField({ validators: [z.string().transform((text) => new Date(text))] })
class ListsSerializer extends modelSerializer(Note, {
  fields: ['days', 'counts', 'grid', 'first', 'plain'],
  declaredFields: {
    days: new ArrayField({ child: day }),
    counts: new ArrayField({
      child: new StringField({ validators: [z.enum(['1', '2']).transform(Number)], allowNull: true }),
      required: false,
    }),
    grid: new ArrayField({ child: new ArrayField({ child: day, allowNull: true }) }),
    first: new ArrayField({ child: day, validators: [z.array(z.date()).transform((days) => days.length)] }),
    plain: new ArrayField({ child: new IntegerField({ allowNull: true }) }),
  },
}) {}
is<
  Equal<
    Input<typeof ListsSerializer>,
    { days: Date[]; grid: (Date[] | null)[]; first: number; plain: (number | null)[]; counts?: (number | null)[] }
  >
>()
is<
  Equal<
    Given<typeof ListsSerializer>,
    {
      days: string[]
      grid: (string[] | null)[]
      first: string[]
      plain: (number | null)[]
      counts?: ('1' | '2' | null)[]
    }
  >
>()

class BookViewSet extends modelViewSet(Book, {
  serializerClass: BookSerializer,
  actions: {
    zod: objectAction({ methods: ['POST'], input: zodInput }, (book, data) => {
      is<Equal<typeof book, Book>>()
      is<Equal<typeof data, { on: Date; note?: string | undefined }>>()
      return { year: data.on.getFullYear() }
    }),
    valibot: listAction({ methods: ['POST'], input: valibotInput }, ({ on }) => is<Equal<typeof on, number>>()),
    arktype: listAction({ methods: ['POST'], input: arktypeInput }, ({ on, note }) => {
      is<Equal<typeof on, number>>()
      is<Equal<typeof note, string | undefined>>()
    }),
    list: listAction({ methods: ['POST'], input: z.array(z.string()) }, (names) => is<Equal<typeof names, string[]>>()),
    fields: listAction({ methods: ['POST'], input: NullableSerializer }, ({ tag }) =>
      is<Equal<typeof tag, number | null>>(),
    ),
  },
}) {
  @action({ methods: ['POST'], inputSerializer: zodInput })
  async renamed({ on }: z.output<typeof zodInput>) {
    return on.getTime()
  }

  @action({ methods: ['POST'], inputSerializer: arktypeInput })
  async numbered(data: { on: number }) {
    return data.on
  }

  @action({ methods: ['GET'], outputSerializer: zodOutput })
  latest() {
    return { on: new Date(), note: 'x' }
  }

  @action({ methods: ['POST'], inputSerializer: zodInput, outputSerializer: [type({ title: 'string' })] })
  async titled({ note = '' }: z.output<typeof zodInput>) {
    return [{ title: note }]
  }

  // @ts-expect-error the schema takes a Date
  @action({ methods: ['GET'], outputSerializer: zodOutput })
  wrongDate() {
    return { on: '2026-01-02' }
  }

  // @ts-expect-error the output is a list
  @action({ methods: ['GET'], outputSerializer: [zodOutput] })
  wrongList() {
    return { on: new Date() }
  }

  // @ts-expect-error an object with a `parse` is no schema
  @action({ methods: ['GET'], outputSerializer: { parse: () => 1 } })
  wrongOutput() {
    return 1
  }

  // @ts-expect-error what the schema makes is a Date
  @action({ methods: ['POST'], inputSerializer: zodInput })
  async wrong(data: { on: string }) {
    return data
  }

  // @ts-expect-error an object with a `parse` is no schema
  @action({ methods: ['POST'], inputSerializer: { parse: () => 1 } })
  async parsed() {
    return 1
  }
}

listAction<ModelViewSet<Book>, typeof zodInput>({ methods: ['POST'], input: zodInput }, (data) => {
  // @ts-expect-error no such key
  void data.wrong
})
// @ts-expect-error neither a function nor a schema
new StringField({ validators: ['email'] })

// what is returned is what the schema takes, and clients get what it makes of that
class ShownViewSet extends modelViewSet(Book, {
  actions: {
    zod: objectAction({ methods: ['GET'], output: zodOutput }, (book) => ({ on: new Date(), note: book.title })),
    valibot: listAction({ methods: ['POST'], input: zodInput, output: valibotInput }, async ({ note }) => ({
      on: note ?? '',
    })),
    arktype: listAction({ methods: ['GET'], output: [type({ title: 'string', 'year?': 'number' })] }, function () {
      return this.getQueryset()
    }),
    kinds: listAction({ methods: ['GET'], output: z.array(z.enum(['novel', 'essay'])) }, () => ['novel', 'essay']),
  },
}) {}
// @ts-expect-error the schema takes a Date
objectAction({ methods: ['GET'], output: zodOutput }, () => ({ on: '2026-01-02' }))
// @ts-expect-error a member is missing
listAction({ methods: ['GET'], output: zodOutput }, async () => ({ note: 'x' }))
// @ts-expect-error the output is a list
listAction({ methods: ['GET'], output: [zodOutput] }, () => ({ on: new Date() }))
// @ts-expect-error nothing is returned
listAction({ methods: ['GET'], output: zodOutput }, () => undefined)
// @ts-expect-error no word at all
listAction({ methods: ['GET'], output: z.array(z.enum(['novel', 'essay'])) }, () => [7])
// @ts-expect-error neither a serializer class nor a schema
listAction({ methods: ['GET'], output: { parse: () => 1 } }, () => 1)

class NoteViewSet extends modelViewSet(Note, { serializerClass: NullableSerializer }) {}

const router = new APIRouter()
  .register('books', BookViewSet)
  .register('notes', NoteViewSet)
  .register('shown', ShownViewSet)

/** A client sends what the schema takes, not what it makes of it. */
export async function use(): Promise<void> {
  const api = createClient<typeof router>('http://localhost')
  const done = await api.books.callOn(1, 'POST', 'zod', { on: '2026-01-02' })
  if (done.ok) is<Equal<typeof done.data, { year: number }>>()
  await api.books.call('POST', 'list', ['a'])
  // @ts-expect-error what the schema takes is a text
  await api.books.callOn(1, 'POST', 'zod', { on: new Date() })
  const shown = await api.shown.callOn(1, 'GET', 'zod')
  if (shown.ok) is<Equal<typeof shown.data, { on: number; note?: string | undefined }>>()
  const made = await api.shown.call('POST', 'valibot', { on: '2026-01-02' })
  if (made.ok) is<Equal<typeof made.data, { on: number }>>()
  const titles = await api.shown.call('GET', 'arktype')
  if (titles.ok) is<Equal<typeof titles.data, { title: string; year?: number | undefined }[]>>()
  const kinds = await api.shown.call('GET', 'kinds')
  if (kinds.ok) is<Equal<typeof kinds.data, ('novel' | 'essay')[]>>()
  // of validators, too, as far as it is a value of the field: a coercion takes anything
  await api.books.create({ title: 'x', pages: 1 })
  await api.notes.create({ text: '7', tag: 'a', stars: 5 })
  await api.notes.update(1, { text: '7', tag: null, stars: null })
  await api.books.call('POST', 'fields', { text: '7', tag: 'b' })
  const refused = await api.notes.partialUpdate(1, { tag: 'b' })
  if (!refused.ok) void refused.errors.tag
  // @ts-expect-error what the schema makes of it
  await api.books.create({ title: 1, pages: 1 })
  // @ts-expect-error none of the words that the schema takes
  await api.notes.create({ text: '7', tag: 'c' })
  // @ts-expect-error what the schema makes of it
  await api.notes.partialUpdate(1, { stars: '5' })
  // @ts-expect-error what the schema makes of it
  await api.books.call('POST', 'fields', { text: '7', tag: 1 })
}
