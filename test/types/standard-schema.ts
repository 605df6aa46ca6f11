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

type Equal<Left, Right> = (<T>() => T extends Left ? 1 : 2) extends <T>() => T extends Right ? 1 : 2 ? true : false
const is = <_Holds extends true>(): void => undefined

class Book extends Model {
  static override tableName = 'books'
  declare id: number
  declare title: string
  declare pages: number
}

const zodInput = z.object({ on: z.iso.date().transform((day) => new Date(day)), note: z.string().optional() })
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

const router = new APIRouter().register('books', BookViewSet)

/** A client sends what the schema takes, not what it makes of it. */
export async function use(): Promise<void> {
  const api = createClient<typeof router>('http://localhost')
  const done = await api.books.callOn(1, 'POST', 'zod', { on: '2026-01-02' })
  if (done.ok) is<Equal<typeof done.data, { year: number }>>()
  await api.books.call('POST', 'list', ['a'])
  // @ts-expect-error what the schema takes is a text
  await api.books.callOn(1, 'POST', 'zod', { on: new Date() })
}
