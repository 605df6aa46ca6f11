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
      create table people.users (id serial primary key, name text, is_staff bool not null default false, staff text);
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

  it('lets no client write what says who may do more', async () => {
    const folder = createFolder()
    const { stderr } = await init('--out', folder, '--schema', 'people')
    expect(stderr).toBe('note: the column "is_staff" of "users" says who may do more: no client writes it\n')
    const serializer = readFileSync(join(folder, 'serializers/user.ts'), 'utf8')
    expect(serializer).toContain("  fields: ['id', 'name', 'is_staff', 'staff'],\n")
    expect(serializer).toContain("  readOnlyFields: ['is_staff'],\n")
  })

  it('names tables of another schema by it, and relates those that it reads', async () => {
    const folder = createFolder()
    const { stderr } = await init('--out', folder, '--schema', 'shop')
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
