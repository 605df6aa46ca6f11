/** Which files `koa-viewsets init` writes, and which it leaves alone. */
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../../support/database.js'
import { createFolder, readFiles } from '../../support/files.js'
import { toUrl } from '../../support/program.js'
import { runFor } from '../../support/written-app.js'

const FILES = ['api.ts', 'authentication.ts', 'main.ts', 'models/book.ts', 'serializers/book.ts', 'views/book.ts']

let database: TestDatabase
let url: string
beforeAll(async () => {
  database = await createDatabase({
    schema: `create table books (id serial primary key, title text not null);
      create schema shop;
      create schema people;
      create table shop.notes (id serial primary key);
      create table people.users (id serial primary key, name text, is_staff bool not null default false, role text not null,
        recovery_codes text[] not null, country_code text);
      create table people.roles (id serial primary key, name text);
      create table people.user_roles (id serial primary key, user_id int references people.users, role_id int references people.roles);
      create table people.session (sid varchar primary key, sess json not null, expire timestamp);
      create table people.visits (id serial primary key, sid varchar references people.session, path text);
      create table people.notes (id serial primary key, title text, author_id int, tenant_id int, made date);
      create schema zoo;
      create table zoo.hosts (hostid serial primary key, host text, proxy_hostid int references zoo.hosts);
      create table zoo.items (itemid serial primary key, hostid int references zoo.hosts);
      create table zoo.area (id serial primary key, name text);
      create table zoo.artist_type (id serial primary key, name text);
      create table zoo.artist (id serial primary key, type int references zoo.artist_type, area int references zoo.area,
        begin_area int references zoo.area, label int references zoo.area);
      create table shop.items (id serial primary key, book_id int references public.books);
      create table shop.offers (id serial primary key, item_id int references shop.items)`,
  })
  url = toUrl(database.direct)
})
afterAll(() => database.drop())

const init = (...args: string[]) => runFor(url, 'init', ...args)

describe('koa-viewsets init', () => {
  it('writes routers of parts for many tables, by the first letters of their routes', async () => {
    const many = await createDatabase({
      schema: Array.from({ length: 60 }, (_, number) => `create table a${number} (id int primary key);`)
        .concat('create table books (id int primary key);')
        .join(''),
    })
    const folder = createFolder()
    const { code } = await runFor(toUrl(many.direct), 'init', '--out', folder)
    await many.drop()
    expect(code).toBe(0)
    const files = readFiles(folder)
    expect(Object.keys(files).filter((file) => file.startsWith('routes/'))).toEqual(
      ['a', 'a2', 'b'].map((part) => `routes/of-${part}.ts`),
    )
    expect(files['api.ts']).toContain(
      [
        "  return new APIRouter({ prefix: '/api' })",
        '.include(routesOfA())',
        '.include(routesOfA2())',
        '.include(routesOfB())',
      ].join('\n    '),
    )
    expect(files['routes/of-b.ts']).toContain("import { BookViewSet } from '../views/book.js'")
    expect(files['routes/of-b.ts']).toContain("  return new APIRouter().register('books', BookViewSet)")
    const registered = ['a', 'a2'].map((part) => files[`routes/of-${part}.ts`]?.match(/\.register\(/g)?.length)
    expect(registered).toEqual([50, 10])
  })

  it('writes nothing on a dry run', async () => {
    const folder = createFolder()
    const { code, stdout, stderr } = await init('--out', folder, '--dry-run')
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout.trim().split('\n').sort()).toEqual(FILES.map((file) => `would write ${join(folder, file)}`))
    expect(readdirSync(folder)).toEqual([])
  })

  it('overwrites nothing, and writes nothing where there is something', async () => {
    const folder = createFolder({ 'api.ts': 'mine', 'views/book.ts': 'mine, too' })
    const before = readFiles(folder)
    const { code, stdout, stderr } = await init('--out', folder)
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain(`${join(folder, 'api.ts')} exists\n`)
    expect(stderr).toContain(`${join(folder, 'views/book.ts')} exists\n`)
    expect(stderr).toContain('nothing is written; --force')
    expect(readFiles(folder)).toEqual(before)
  })

  it('overwrites with --force what still begins with its line, and keeps the rest', async () => {
    const folder = createFolder()
    expect((await init('--out', folder)).code).toBe(0)
    const first = readFiles(folder)
    expect(Object.keys(first)).toEqual(FILES)
    const [header] = (first['api.ts'] as string).split('\n')
    writeFileSync(join(folder, 'models/book.ts'), `${header}\n// changed`)
    writeFileSync(join(folder, 'views/book.ts'), (first['views/book.ts'] as string).replace(`${header}\n`, '// mine\n'))
    writeFileSync(join(folder, 'serializers/book.ts'), `// mine\n${header}\n`)
    const { code, stdout } = await init('--out', folder, '--force')
    expect(code).toBe(0)
    expect(stdout).toContain(`rewritten  ${join(folder, 'models/book.ts')}\n`)
    expect(stdout).toContain(`kept       ${join(folder, 'views/book.ts')}\n`)
    const after = readFiles(folder)
    expect(after['models/book.ts']).toBe(first['models/book.ts'])
    expect(after['views/book.ts']).toMatch(/^\/\/ mine/)
    expect(after['serializers/book.ts']).toBe(`// mine\n${header}\n`)
    expect(Object.keys(after)).toEqual(FILES)
  })

  it('follows no links', async () => {
    const outside = createFolder({ 'target.ts': 'not ours' })
    const folder = createFolder()
    symlinkSync(join(outside, 'target.ts'), join(folder, 'api.ts'))
    const file = await init('--out', folder, '--force')
    expect([file.code, file.stderr]).toEqual([1, expect.stringContaining('api.ts is a link, which is not followed')])
    const other = createFolder()
    symlinkSync(outside, join(other, 'models'))
    const inner = await init('--out', other)
    expect([inner.code, inner.stderr]).toEqual([1, expect.stringContaining('models is a link, which is not followed')])
    const third = createFolder()
    symlinkSync(outside, join(third, 'src'))
    const whole = await init('--out', join(third, 'src'))
    expect([whole.code, whole.stderr]).toEqual([1, expect.stringContaining('src is a link, which is not followed')])
    expect(readFiles(outside)).toEqual({ 'target.ts': 'not ours' })
    expect(readdirSync(other)).toEqual(['models'])
  })

  it('tells of what stands where a folder should', async () => {
    const folder = createFolder({ models: 'a file' })
    expect(await init('--out', folder)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('models is no folder'),
    })
    const other = createFolder()
    mkdirSync(join(other, 'api.ts'))
    expect(await init('--out', other)).toMatchObject({ code: 1, stderr: expect.stringContaining('api.ts is no file') })
  })

  it('lets no client write what says who may do more, and tells so', async () => {
    const folder = createFolder()
    const { stderr } = await init('--out', folder, '--schema', 'people', '--tables', 'users')
    expect(stderr.trim().split('\n')).toEqual([
      'note: the column "recovery_codes" of "users" sounds like a secret: no client sees it',
      'note: the column "is_staff" of "users" says who may do more: no client writes it',
      'note: the column "role" of "users" says who may do more: no client writes it',
      'note: "users": clients cannot create objects, until performCreate() gives "role", "recovery_codes"',
      'note: "users" are people: any caller changes them, until rules.ts says who may',
    ])
    const serializer = readFileSync(join(folder, 'serializers/user.ts'), 'utf8')
    expect(serializer).toContain("  fields: ['id', 'name', 'is_staff', 'role', 'country_code'],\n")
    expect(serializer).toContain("  readOnlyFields: ['is_staff', 'role'],\n")
    expect(readFileSync(join(folder, 'views/user.ts'), 'utf8')).toContain(
      '// A new row needs "role", "recovery_codes": give it in performCreate(serializer).',
    )
  })

  it('closes what lets somebody in: keys, what holds them, and tables of them', async () => {
    const folder = createFolder()
    const { stderr } = await init('--out', folder, '--schema', 'people', '--tables', 'session,visits,roles,user_roles')
    const limits = stderr.split('\n').filter((line) => line.includes('only'))
    expect(limits).toEqual([
      'note: "roles": its rows sound like who may do what, so it is only read',
      'note: "session": its key sounds like a secret, which no path should have, so there is a list only',
      'note: "user_roles": its rows sound like who may do what, so it is only read',
    ])
    const visits = readFileSync(join(folder, 'serializers/visit.ts'), 'utf8')
    expect(visits).toContain("  fields: ['id', 'path'],\n")
    expect(visits).toContain('// "sid" sounds like a secret')
  })

  it('writes rules of tenants and owners as comments, which hold once they are none', async () => {
    const folder = createFolder()
    const { stderr } = await init('--out', folder, '--schema', 'people', '--tables', 'users,notes')
    expect(stderr).toContain(
      'note: the column "tenant_id" of "notes" sounds like whose row it is: any caller has it, until rules.ts says who may\n',
    )
    const rules = readFileSync(join(folder, 'rules.ts'), 'utf8')
    expect(rules).toContain(`
  // "tenant_id" of "notes" sounds like a tenant; "author_id" of "notes" sounds like an owner
  // rule(Note, {
  //   read: ({ user }) => ({ tenant_id: user?.tenant_id }),
  //   update: ({ user }) => ({ tenant_id: user?.tenant_id, author_id: user?.id }),
  //   delete: ({ user }) => ({ tenant_id: user?.tenant_id, author_id: user?.id }),
  // }),
`)
    expect(rules).toContain('// import { Note } from ')
    expect(readFileSync(join(folder, 'api.ts'), 'utf8')).toContain("new APIRouter({ prefix: '/api', rules })")
  })

  it('reads several schemas, with the foreign keys between them', async () => {
    const folder = createFolder()
    const { code, stderr } = await init('--out', folder, '--schema', 'public,shop', '--schema', 'people')
    expect(code).toBe(0)
    expect(stderr).not.toContain('is no relation')
    expect(readFileSync(join(folder, 'serializers/offer.ts'), 'utf8')).toContain(
      '  //   item: new PrimaryKeyRelatedField({ queryset: Item, shownBy: ItemSerializer }),\n',
    )
    expect(stderr).toContain('"people.notes" is the class PeopleNote: Note is taken')
    expect(readFileSync(join(folder, 'models/item.ts'), 'utf8')).toContain("to: 'books.id'")
    expect(readFileSync(join(folder, 'api.ts'), 'utf8')).toContain(".register('people-notes', PeopleNoteViewSet")
    expect(readdirSync(join(folder, 'models'))).toContain('people-note.ts')
    const some = createFolder()
    await init('--out', some, '--schema', 'shop,people', '--tables', 'people.notes,items')
    expect(readdirSync(join(some, 'models'))).toEqual(['item.ts', 'note.ts'])
  })

  it('lets clients order and search, by what they see', async () => {
    const folder = createFolder()
    await init('--out', folder, '--schema', 'people', '--tables', 'notes')
    const view = readFileSync(join(folder, 'views/note.ts'), 'utf8')
    expect(view).toContain('  filterBackends: [SearchFilter, OrderingFilter],\n')
    expect(view).toContain(
      "  searchFields: ['title'],\n  orderingFields: ['id', 'title', 'author_id', 'tenant_id', 'made'],\n",
    )
  })

  it('names relations as one would read them', async () => {
    const folder = createFolder()
    await init('--out', folder, '--schema', 'zoo')
    const names = (file: string) =>
      [...readFileSync(join(folder, `models/${file}.ts`), 'utf8').matchAll(/^ {2}declare (\w+)\?:/gm)].map(
        ([, name]) => name,
      )
    expect(names('host')).toEqual(['proxy_host', 'hosts_by_proxy_host', 'items'])
    expect(names('item')).toEqual(['host'])
    expect(names('artist')).toEqual(['artist_type', 'area_row', 'begin_area_row', 'label_area'])
  })

  it('names tables of another schema by it, and relates those that it reads', async () => {
    const folder = createFolder()
    const { stderr } = await init('--out', folder, '--schema', 'shop', '--tables', 'items,offers')
    expect(stderr).toBe(
      'note: the foreign key "items_book_id_fkey" of "items" is no relation: it leads to a table that is not read\n',
    )
    const model = readFileSync(join(folder, 'models/offer.ts'), 'utf8')
    expect(model).toContain("static override tableName = 'shop.offers'")
    expect(model).toContain("from: 'shop.offers.item_id',\n        to: 'shop.items.id',")
    const alone = createFolder()
    expect((await init('--out', alone, '--schema', 'shop', '--tables', 'offers')).stderr).toContain(
      '"offers_item_id_fkey"',
    )
    expect(readdirSync(join(alone, 'models'))).toEqual(['offer.ts'])
  })

  it.each([
    [['--out', ''], 2, '--out is empty'],
    [['--force=yes'], 2, "Option '--force' does not take an argument"],
    [['--schema', 'nowhere'], 1, 'there is no schema "nowhere"'],
  ])('called with %j is told', async (args, code, message) => {
    const printed = await init(...args)
    expect([printed.code, printed.stdout]).toEqual([code, ''])
    expect(printed.stderr).toContain(`koa-viewsets init: ${message}`)
  })
})
