/** `koa-viewsets types`: what it writes, keeps current, and refuses. */
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../../support/database.js'
import { createFolder } from '../../support/files.js'
import { toUrl } from '../../support/program.js'
import { compile, createAppFolder, runFor } from '../../support/written-app.js'

const SCHEMA = `
  create type mood as enum ('sad', 'it''s ok');
  create schema other;
  create type other.interval_kind as enum ('open', 'closed');
  create table other.notes (id serial primary key, body text not null, kind other.interval_kind not null);
  create table books (
    id int generated always as identity primary key,
    title text not null,
    mood mood,
    pages int not null default 0,
    price numeric,
    lent interval not null default '1 day',
    tags text[] not null,
    data jsonb not null default '{}',
    password_hash text
  );
  comment on table books is 'What can be lent.';
  comment on column books.title is 'As it is on the cover.';
  create table empty_ones (id int);
  create view titles as select title from books;
  create table knex_migrations (id int);
  create table koa_viewsets_changes (id int);
  create table "SequelizeMeta" (name text);`

const HEADER = '// Written by `npx koa-viewsets types`, which writes this file anew: change nothing here.'
const BOOKS = `${HEADER}
import type { Generated, Interval } from 'koa-viewsets'

export type Mood = 'sad' | "it's ok"

/** What can be lent. */
export interface BookRow {
  readonly id: number
  /** As it is on the cover. */
  title: string
  mood: Mood | null
  pages: Generated<number>
  price: string | null
  lent: Generated<Interval>
  tags: (string | null)[]
  data: unknown
  password_hash: string | null
}
`

/** Rows as a table's, in an application of a user. */
const USE = `
import { type Input, modelSerializer, modelViewSet, type Output, table } from 'koa-viewsets'
import type { BookRow } from './src/tables.js'

type Equal<Left, Right> = (<T>() => T extends Left ? 1 : 2) extends <T>() => T extends Right ? 1 : 2 ? true : false
const is = <_Holds extends true>(): void => undefined
const books = table<BookRow>('books')
class BookSerializer extends modelSerializer(books, { fields: ['id', 'title', 'mood', 'pages', 'lent', 'tags'] }) {}
type Shown = { id: number; title: string; mood: 'sad' | "it's ok" | null; pages: number; lent: string; tags: (string | null)[] }
is<Equal<Output<typeof BookSerializer>, Shown>>()
is<Equal<Input<typeof BookSerializer>['pages'], number | undefined>>()
is<Equal<Extract<keyof Input<typeof BookSerializer>, 'id'>, never>>()
// @ts-expect-error no such column
modelViewSet(books, { serializerClass: BookSerializer, lookupField: 'titel' })
`

let database: TestDatabase
let url: string
beforeAll(async () => {
  database = await createDatabase({ schema: SCHEMA })
  url = toUrl(database.direct)
})
afterAll(() => database.drop())

const types = (...args: string[]) => runFor(url, 'types', ...args)

describe('koa-viewsets types', () => {
  it('writes the rows of all tables and views, and of none that a tool keeps for itself', async () => {
    const { code, stdout, stderr } = await types()
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout.startsWith(BOOKS)).toBe(true)
    expect(stdout.slice(BOOKS.length)).toBe(
      '\n/** A row of "empty_ones". */\nexport interface EmptyOneRow {\n  id: number | null\n}\n' +
        '\n/** A row of "titles". */\nexport interface TitleRow {\n  title: string | null\n}\n',
    )
  })

  it('reads the schema and the tables that are named', async () => {
    expect((await types('--tables', 'books')).stdout).toBe(BOOKS)
    expect(
      (await types('--tables', 'titles', '--tables=books,knex_migrations')).stdout.match(/interface \w+/g),
    ).toEqual(['interface BookRow', 'interface KnexMigrationRow', 'interface TitleRow'])
    const other = (await types('--schema', 'other')).stdout
    expect(other).toContain('export interface NoteRow {\n  readonly id: number\n')
    // an enum with a name like that of the package's type, which is not imported for it
    expect(other).toContain('  kind: OtherIntervalKind\n')
    expect(other).not.toContain('import')
  })

  it('are those of a table', { timeout: 60_000 }, async () => {
    const folder = createAppFolder()
    mkdirSync(join(folder, 'src'))
    expect((await types('--output', join(folder, 'src/tables.ts'))).code).toBe(0)
    writeFileSync(join(folder, 'use.ts'), USE)
    expect(await compile(folder)).toBe('')
  })

  it('keeps its file current, and tells where it is not', async () => {
    const file = join(createFolder(), 'new/tables.ts')
    const args = ['--tables', 'books', '--output', file]
    expect(await types(...args, '--check')).toMatchObject({ code: 1, stderr: expect.stringContaining('differs from') })
    expect(existsSync(file)).toBe(false)
    expect(await types(...args)).toEqual({ code: 0, stdout: '', stderr: `${file} written\n` })
    expect(readFileSync(file, 'utf8')).toBe(BOOKS)
    expect(await types(...args)).toEqual({ code: 0, stdout: '', stderr: `${file} is as the database has it\n` })
    expect(await types(...args, '--check')).toMatchObject({ code: 0 })
    // as git checks out on Windows
    writeFileSync(file, BOOKS.replaceAll('\n', '\r\n'))
    expect(await types(...args, '--check')).toMatchObject({ code: 0 })
    writeFileSync(file, BOOKS.replace('title', 'titel'))
    expect(await types(...args, '--check')).toMatchObject({ code: 1 })
    expect(readFileSync(file, 'utf8')).toContain('titel')
    expect(await types(...args)).toMatchObject({ code: 0 })
    expect(readFileSync(file, 'utf8')).toBe(BOOKS)
  })

  it('writes no file that is not its own, and follows no link', async () => {
    const folder = createFolder({ 'mine.ts': 'export const mine = 1\n', 'own.ts': `${HEADER}\n` })
    symlinkSync(join(folder, 'own.ts'), join(folder, 'link.ts'))
    mkdirSync(join(folder, 'real'))
    symlinkSync(join(folder, 'real'), join(folder, 'linked'))
    const refusals = [
      ['mine.ts', 'mine.ts exists, and does not begin with the line that koa-viewsets writes'],
      ['link.ts', 'link.ts is a link, which is not followed'],
      ['linked/tables.ts', 'linked is a link, which is not followed'],
      ['real', 'real is no file'],
      ['mine.ts/tables.ts', 'mine.ts'],
    ] as const
    for (const [file, message] of refusals) {
      const { code, stderr } = await types('--output', join(folder, file))
      expect([file, code]).toEqual([file, 1])
      expect(stderr).toContain(message)
    }
    expect(readFileSync(join(folder, 'mine.ts'), 'utf8')).toBe('export const mine = 1\n')
    expect(readFileSync(join(folder, 'own.ts'), 'utf8')).toBe(`${HEADER}\n`)
    expect(existsSync(join(folder, 'real/tables.ts'))).toBe(false)
  })

  // root may write anywhere
  it.skipIf(process.getuid?.() === 0)('tells of a folder that it may not write', async () => {
    const folder = createFolder()
    chmodSync(folder, 0o555)
    expect(await types('--output', join(folder, 'tables.ts'))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('EACCES'),
    })
  })

  it.each([
    [['--check'], 2, '--check needs --output'],
    [['--output', ''], 2, '--output is empty'],
    [['--schema', ''], 2, '--schema has an empty name'],
    [['--schema', 'public,'], 2, '--schema has an empty name'],
    [['--tables', 'books,,titles'], 2, '--tables has an empty name'],
    [['books'], 2, "Unexpected argument 'books'"],
    [['--schema', 'nowhere'], 1, 'there is no schema "nowhere"'],
    [['--schema', `a"; drop table books; --`], 1, 'there is no schema "a"; drop table books; --"'],
    [['--tables', 'books,nothing'], 1, 'there is no table or view "nothing" in schema "public"'],
    [['--tables', 'other.notes'], 1, 'there is no table or view "other.notes"'],
  ])('called with %j is told', async (args, code, message) => {
    const printed = await types(...args)
    expect([printed.code, printed.stdout]).toEqual([code, ''])
    expect(printed.stderr).toContain(`koa-viewsets types: ${message}`)
  })

  it.each([
    [undefined, 2, 'DATABASE_URL is not set'],
    ['', 2, 'DATABASE_URL is not set'],
    ['books', 2, 'DATABASE_URL is no URL of PostgreSQL'],
    ['mysql://root:hidden@localhost/books', 2, 'DATABASE_URL is no URL of PostgreSQL'],
    [
      'postgres://user:hidden@127.0.0.1:1/books',
      1,
      'the database of DATABASE_URL cannot be read: connect ECONNREFUSED',
    ],
    ['postgres://user:hidden@localhost:1/books', 1, 'the database of DATABASE_URL cannot be read: '],
    ['postgres://user:hidden@127.0.0.1:port/books', 1, 'the database of DATABASE_URL cannot be read: Invalid URL'],
    ['postgres://user:hidden@nowhere.invalid/books', 1, 'the database of DATABASE_URL cannot be read: getaddrinfo'],
  ])('with the database %j is told, without the URL', async (given, code, message) => {
    const printed = await runFor(given, 'types')
    expect([printed.code, printed.stdout]).toEqual([code, ''])
    expect(printed.stderr).toContain(`koa-viewsets types: ${message}`)
    expect(printed.stderr).not.toContain('hidden')
  })

  it('tells of a database that there is not, and of a schema without tables', async () => {
    const empty = await createDatabase()
    try {
      const none = await runFor(toUrl(empty.direct), 'types')
      expect(none).toMatchObject({ code: 1, stdout: '' })
      expect(none.stderr).toContain('schema "public" has no tables and no views that can be read')
    } finally {
      await empty.drop()
    }
    const gone = await runFor(toUrl(empty.direct), 'types')
    expect(gone.stderr).toMatch(/cannot be read: database "\w+" does not exist/)
  })
})
