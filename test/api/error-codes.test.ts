/** Codes of messages beside them, and messages of the application in their place. */
import { afterEach, describe, expect, it } from 'vitest'
import {
  BulkModelViewSet,
  type Context,
  configure,
  ModelSerializer,
  NestedSerializer,
  StringField,
  ValidationError,
} from '../../lib/index.js'
import { serveApp } from '../support/client.js'
import { AuthorSerializer, Book, database, useLibrary } from '../support/library.js'
import { routerOf } from '../support/views.js'

useLibrary()
afterEach(() => configure({}))

const tidy = (value: string) => {
  if (value === 'dull') throw new ValidationError('Make it livelier.', { code: 'dull' })
  if (value === 'bad') throw new ValidationError('Bad.')
}
const short = (value: string) => {
  if (value.length < 5) throw new ValidationError('Short.', { code: 'short' })
}

class BookSerializer extends ModelSerializer<Book> {
  static override schemaName = 'CodedBook'
  static override model = Book
  static override fields = ['id', 'title', 'isbn', 'n', 'author_id']
  static override declaredFields = {
    title: new StringField({ minLength: 3, validators: [tidy, short] as never }),
    author: new NestedSerializer(AuthorSerializer, { required: false }),
  }
  override validate(data: Record<string, unknown>) {
    if (data['n'] === 13) throw new ValidationError({ n: ['No.'] }, { code: 'unlucky' })
    return data
  }
}

class Books extends BulkModelViewSet<Book> {
  static override model = Book
  static override serializerClass = BookSerializer as never
}

async function served() {
  const api = routerOf({ books: Books })
  await api.prepare()
  // past the rules of the envelope without codes
  const { port, reported } = await serveApp(api.routes())
  const send = async (method: string, path: string, body?: unknown, headers = {}) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { 'Content-Type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: answer.status, text: await answer.text() }
  }
  const refused = async (body: unknown, path = '/books') => {
    const { status, text } = await send('POST', path, body)
    expect(status).toBe(400)
    return JSON.parse(text)
  }
  return { api, send, refused, reported }
}

describe('codes', () => {
  it('are not there unless asked for', async () => {
    const { send } = await served()
    expect((await send('POST', '/books', {})).text).toBe(
      '{"detail":"Validation failed","status":400,"errors":{"title":["This field is required."]}}',
    )
  })

  it('stand beside messages, in the same shape', async () => {
    configure({ errorCodes: true })
    const { refused, send } = await served()
    expect((await send('POST', '/books', {})).text).toBe(
      '{"detail":"Validation failed","status":400,"code":"validation_failed","errors":{"title":["This field is required."]},"codes":{"title":["required"]}}',
    )
    const body = { title: 'x', n: 'y', isbn: 5, author: { name: null }, author_id: null }
    expect((await refused(body)).codes).toEqual({
      title: ['min_length'],
      n: ['invalid_integer'],
      isbn: ['invalid_string'],
      author: ['exclusive'],
      author_id: ['exclusive'],
    })
    expect((await refused({ title: 'abcdef', author: { name: null } })).codes).toEqual({ author: { name: ['null'] } })
    expect((await refused([{ title: 'abcdef' }, { title: null }, 5], '/books/bulk')).codes).toEqual({
      1: { title: ['null'] },
      2: { non_field_errors: ['not_an_object'] },
    })
    expect((await refused({}, '/books/bulk')).codes).toEqual({ non_field_errors: ['not_a_list'] })
  })

  it('are known of what the database refuses', async () => {
    configure({ errorCodes: true })
    const { refused, send } = await served()
    await send('POST', '/books', { title: 'abcdef', isbn: '1' })
    expect((await refused({ title: 'abcdef', isbn: '1' })).codes).toEqual({ isbn: ['unique'] })
    expect((await refused({ title: 'abcdef', author_id: 99 })).codes).toEqual({ author_id: ['does_not_exist'] })
    expect((await refused([{ title: 'uvwxyz' }, { title: 'abcdef', isbn: '1' }], '/books/bulk')).codes).toEqual({
      1: { isbn: ['unique'] },
    })
    expect(await database.knex('books').pluck('title')).toEqual(['abcdef'])
  })

  it('are those that the application gives, through fields, objects and lists', async () => {
    configure({ errorCodes: true })
    const { refused } = await served()
    expect(await refused({ title: 'dull' })).toMatchObject({
      errors: { title: ['Make it livelier.', 'Short.'] },
      codes: { title: ['dull', 'short'] },
    })
    expect((await refused({ title: 'bad' })).codes).toEqual({ title: ['invalid', 'short'] })
    expect((await refused({ title: 'abcdef', n: 13 })).codes).toEqual({ n: ['unlucky'] })
    expect((await refused([{ title: 'abcdef' }, { title: 'abcdef', n: 13 }], '/books/bulk')).codes).toEqual({
      1: { n: ['unlucky'] },
    })
  })

  it('are words', () => {
    for (const code of ['', 'Taken', 'a b', '1', 'x'.repeat(65)]) {
      expect(() => new ValidationError('No.', { code })).toThrow(/code/)
    }
  })

  it('change no list that an application keeps', () => {
    const mine = ['No.']
    const { errors } = new ValidationError({ a: mine }, { code: 'mine' })
    expect(errors['a']).toEqual(mine)
    expect(errors['a']).not.toBe(mine)
  })

  it('are described by the document, where they are asked for', async () => {
    const { api } = await served()
    const properties = () => (api.getSchema().components.schemas['ValidationError'] as never)['properties']
    expect(properties()).not.toHaveProperty('codes')
    expect(properties()).not.toHaveProperty('code')
    configure({ errorCodes: true })
    expect(properties()).toHaveProperty('codes')
    const { schemas, responses } = api.getSchema().components
    expect(schemas['Error']).toMatchObject({
      properties: { code: { type: 'string' } },
      required: ['detail', 'status', 'code'],
    })
    const examples = Object.fromEntries(
      Object.entries(responses).map(([name, { content }]) => [
        name,
        Object(content?.['application/json']?.example).code,
      ]),
    )
    expect(examples).toMatchObject({ NotFound: 'not_found', BadRequest: 'validation_failed' })
    expect(Object.values(examples)).not.toContain(undefined)
  })
})

describe('messages', () => {
  it('are replaced by code: by texts, and by functions of what they name and of the request', async () => {
    configure({
      errorCodes: true,
      messages: {
        required: 'Bitte angeben.',
        min_length: 'Mindestens {min} {unit}, {nothing}.',
        invalid_integer: (_, ctx: Context) => `[${ctx.get('Accept-Language')}]`,
      },
    })
    const { send, refused } = await served()
    expect(await refused({})).toMatchObject({ errors: { title: ['Bitte angeben.'] }, codes: { title: ['required'] } })
    const { text } = await send('POST', '/books', { title: 'a', n: 'x' }, { 'Accept-Language': 'de' })
    expect(JSON.parse(text)).toMatchObject({
      errors: { title: ['Mindestens 3 characters, {nothing}.'], n: ['[de]'] },
      codes: { title: ['min_length'], n: ['invalid_integer'] },
    })
  })

  it('stay those of the application, where they are its own', async () => {
    configure({ messages: { invalid: 'X', required: 'Y' } })
    const { refused } = await served()
    expect((await refused({ title: 'bad' })).errors).toEqual({ title: ['Bad.', 'Short.'] })
  })

  it('are the package’s where a function fails, and the error is reported', async () => {
    configure({
      messages: {
        required: () => {
          throw new Error('away')
        },
        invalid_integer: (() => undefined) as never,
      },
    })
    const { refused, reported } = await served()
    expect((await refused({ n: 'x' })).errors).toEqual({
      title: ['This field is required.'],
      n: ['A valid integer is required.'],
    })
    expect(reported.map(String).sort()).toEqual([
      'Error: away',
      expect.stringContaining('"invalid_integer" is no text'),
    ])
  })

  it.each([
    [{ requird: 'x' }, /"requird", which is no code.*required/],
    [{ nothing_like_it: 'x' }, /error-codes\.md/],
    [{ required: 5 }, /no text and no function/],
    [[], /give an object/],
    ['x', /give an object/],
  ])('%j are a ConfigurationError', (messages, problem) => {
    expect(() => configure({ messages: messages as never })).toThrow(problem)
  })
})
