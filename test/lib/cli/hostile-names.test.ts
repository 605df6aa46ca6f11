/** Names and comments of a database that mean something elsewhere: what is made of them compiles, starts and answers. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../../support/database.js'
import { readFiles } from '../../support/files.js'
import { toUrl } from '../../support/program.js'
import {
  askEverything,
  compile,
  createAppFolder,
  letIn,
  type Printed,
  type RunningApp,
  runFor,
  start,
} from '../../support/written-app.js'

const schema = readFileSync(new URL('schemas/hostile.sql', import.meta.url), 'utf8')

/** What JSON shows of each type of column, by the types of the serializer. */
const USE = `
import type { Input, Output } from 'koa-viewsets'
import type { OddType, OrdersType } from './src/models/enums.js'
import { TypeSerializer } from './src/serializers/type.js'

type Equal<Left, Right> = (<T>() => T extends Left ? 1 : 2) extends <T>() => T extends Right ? 1 : 2 ? true : false
const is = <_Holds extends true>(): void => undefined
is<Equal<Output<typeof TypeSerializer>, {
  id: number | string; i2: number | null; i8: number | string; f4: number | null; f8: number | null; n: string
  m: string | null; b: boolean; c: string | null; v: string | null; t: string; u: string | null; d: string; tm: string | null
  tz: string | null; ts: string | null; tstz: string; iv: string; by: string; j: unknown; jb: unknown
  i4a: (number | null)[]; i8a: (number | string | null)[] | null; na: (string | null)[] | null; ta: (string | null)[][] | null
  da: (string | null)[]; ea: (OrdersType | null)[] | null; ja: unknown[] | null; boola: (boolean | null)[] | null
  ia: (string | null)[] | null; e: OddType | null; pos: number | null; posa: (number | null)[] | null; net: string | null
  mac: string | null; ts_v: string | null; bits: string | null; p: unknown; ci: unknown; bx: string | null; r: string | null
  dr: string | null; tr: string | null; dm: string | null; x: string | null; o: string | null; rt: string | null
  row_t: string | null; g: number | null; idn: number
}>>()
is<Equal<Input<typeof TypeSerializer>['iv'], string | undefined>>()
is<Equal<Input<typeof TypeSerializer>['da'], (string | null)[] | undefined>>()
is<Equal<Extract<keyof Input<typeof TypeSerializer>, 'id' | 'g' | 'idn'>, never>>()
is<Equal<OddType, '' | "it's" | '"quoted"' | '\`\${1}\`' | 'new\\nline' | '\\\\' | '*/ x' | '\\u202e\\u2028' | 'null'>>()
`

let database: TestDatabase
let folder: string
let printed: Printed
let app: RunningApp
const headers = { authorization: 'Token x', 'content-type': 'application/json' }
beforeAll(async () => {
  database = await createDatabase({ schema })
  folder = createAppFolder()
  printed = await runFor(toUrl(database.direct), 'init', '--out', join(folder, 'src'))
})
afterAll(async () => {
  await app?.program.stop()
  await database.drop()
})

describe('an application made of hostile names', () => {
  it('hides nothing from its readers', () => {
    expect(printed.code).toBe(0)
    const texts = [...Object.values(readFiles(join(folder, 'src'))), printed.stdout, printed.stderr]
    for (const text of texts) expect(text).not.toMatch(/[^\P{C}\n]|\p{Zl}|\p{Zp}/u)
  })

  it.each([
    '"a.b" is left out: knex takes what stands before a dot for a schema',
    '"what?" is left out: knex can carry no name with a question mark',
    '"nothing" is left out: it has no columns',
    '"dates" is the class Dates: Date is taken',
    '"model" is the class ModelRecord: Model is taken',
    '"order" is the class OrderRecord: Order is taken',
    '"orders" is the class Orders: Order is taken',
    'the column "constructor" of "members" is left out: instances of Objection cannot hold it',
    'the column "toString" of "members" is left out: all models of Objection have a member of this name',
    'the column "x as y" of "members" is left out: knex takes what follows " as " for another name',
    'the column "row_t" of "types" is of type "order_row": it is taken and shown as PostgreSQL writes it',
    'the foreign key "letters_a.b_fkey" of "letters" is no relation: Objection cannot join by the name of its column',
    'the foreign key "people_place_id_fkey" of "people" is no relation: it leads to a table that is not read',
    '"friends" has no route of its own: it joins two tables, which have relations through it',
    '"counted": it is a materialized view, which is only read',
    '"json_key": no path can name a key of type jsonb, so there is a list only',
    '"ledger": nothing tells the rows of this table apart, so there is a list of them only',
    '"revoked" is left out: all of its columns sound like secrets',
    '"asked": instances cannot hold one of its columns, so it is only read',
    '"members": instances cannot hold one of its columns, so it is only read',
    'the column "apiKey" of "needed" sounds like a secret: no client sees it',
    '"needed": clients cannot create objects, until performCreate() gives "$must", "password_hash"',
  ])('tells that %s', (note) => {
    expect(printed.stderr.split('\n')).toContain(`note: ${note}`)
  })

  it('names relations apart', () => {
    const files = readFiles(join(folder, 'src/models'))
    const relationsOf = (file: string) => [...(files[file] ?? '').matchAll(/^ {4}(\S+): \{$/gm)].map(([, name]) => name)
    expect(relationsOf('person.ts')).toEqual([
      'manager_person',
      'mentor_person',
      'letters_by_from',
      'letters_by_to',
      'people_by_manager_person',
      'people_by_mentor_person',
      'profile',
      'others',
      'ones',
      'letters',
    ])
    expect(relationsOf('letter.ts')).toEqual([
      'from',
      'to',
      'order',
      'has_space',
      'reply',
      'letter_serializers',
      'letter_by_reply',
      'people',
    ])
    expect([relationsOf('half.ts'), relationsOf('pair.ts')]).toEqual([['pair'], ['halves']])
    expect(files['half.ts']).toContain("from: ['halves.a', 'halves.b'],")
    expect(relationsOf('box.ts')).toEqual(['shelf_row', 'shelf_code_shelf'])
  })

  it('compiles, and knows what JSON shows of each type', { timeout: 60_000 }, async () => {
    writeFileSync(join(folder, 'use.ts'), USE)
    const rows = await runFor(toUrl(database.direct), 'types', '--output', join(folder, 'src/tables.ts'))
    expect(rows.code).toBe(0)
    expect(await compile(folder)).toBe('')
  })

  it('answers every list and object', { timeout: 60_000 }, async () => {
    letIn(folder)
    app = await start(folder, toUrl(database.direct))
    const { paths, faults } = await askEverything(app.client, { '/api/pairs': ['a', 'b'] })
    expect(faults).toEqual([])
    expect(paths).toContain('/api/shelves/a%20b%3F')
    expect(paths.length).toBeGreaterThan(60)
  })
  it('takes writes, or says what is wrong with them', async () => {
    const lists = (await app.client.send({ path: '/api/', headers })).json as Record<string, string>
    const answers = new Map<string, number>()
    for (const [name, path] of Object.entries(lists)) {
      answers.set(name, (await app.client.send({ path, headers, body: '{}' })).status)
    }
    expect([...answers].filter(([, status]) => status >= 500)).toEqual([])
    expect([...answers].filter(([, status]) => status === 201).length).toBeGreaterThan(25)
    const body = JSON.stringify({ 'a;b': 2, 'c"d': 'x', "e'f": 'y', 'g\\h': 'z', '`${i}`': 'w', 'j*/k': 'v' })
    expect((await app.client.send({ path: '/api/a-bs/1', method: 'PATCH', headers, body })).json).toEqual({
      ...JSON.parse(body),
      'a;b': 1,
    })
    expect((await app.client.send({ path: '/api/neededs/1', headers })).json).toEqual({ id: 1, hashtag: 'c' })
  })
})
