/** What `koa-viewsets init` makes of Pagila: an application that compiles, starts and answers. */
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../../support/database.js'
import { readFiles } from '../../support/files.js'
import { startProgram, toUrl } from '../../support/program.js'
import {
  askEverything,
  compile,
  createAppFolder,
  formatFaults,
  letIn,
  type Printed,
  type RunningApp,
  runFor,
  start,
  uncommentRules,
} from '../../support/written-app.js'

const schema = readFileSync(new URL('schemas/pagila.sql', import.meta.url), 'utf8')

/** What a user adds: nothing here compiles unless the types are those of the answers. */
const USE = `
import type { Input, Output } from 'koa-viewsets'
import { createClient } from 'koa-viewsets/client'
import type { Api } from './src/api.js'
import { FilmSerializer } from './src/serializers/film.js'
import { RentalSerializer } from './src/serializers/rental.js'

type Equal<Left, Right> = (<T>() => T extends Left ? 1 : 2) extends <T>() => T extends Right ? 1 : 2 ? true : false
const is = <_Holds extends true>(): void => undefined
type Film = Output<typeof FilmSerializer>
is<Equal<Film['rating'], 'G' | 'PG' | 'PG-13' | 'R' | 'NC-17' | null>>()
is<Equal<Film['last_update'], string>>()
is<Equal<Film['rental_rate'], string>>()
is<Equal<Film['special_features'], (string | null)[] | null>>()
is<Equal<Output<typeof RentalSerializer>['rental_period'], string | null>>()
is<Equal<keyof Input<typeof RentalSerializer>, 'rental_date' | 'inventory_id' | 'customer_id' | 'return_date' | 'staff_id' | 'last_update'>>()

export async function use(): Promise<string | undefined> {
  const api = createClient<Api>('http://localhost/api')
  const found = await api.films.list({ language_id: 1, expand: 'language' })
  // @ts-expect-error no such filter
  await api.films.list({ language: 1 })
  return found.ok ? found.data.results[0]?.title : undefined
}
`

let database: TestDatabase
let folder: string
let printed: Printed
let app: RunningApp
beforeAll(async () => {
  database = await createDatabase({ schema })
  folder = createAppFolder()
  printed = await runFor(toUrl(database.direct), 'init', '--out', join(folder, 'src'))
})
afterAll(async () => {
  await app?.program.stop()
  await database.drop()
})

describe('an application made of Pagila', () => {
  it('tells what it has written, and what is not as one may expect', () => {
    expect(printed.code).toBe(0)
    expect(printed.stdout).toMatch(/^written +\S+\/src\/models\/enums\.ts\nwritten +\S+\/src\/models\/actor\.ts\n/)
    expect(printed.stdout).toContain('say in')
    expect(printed.stderr.split('\n')).toEqual([
      'note: "film_actor" has no route of its own: it joins two tables, which have relations through it',
      'note: "film_category" has no route of its own: it joins two tables, which have relations through it',
      'note: "actor_info": nothing tells the rows of this view apart, so there is a list of them only',
      'note: "customer_list": nothing tells the rows of this view apart, so there is a list of them only',
      'note: "film_list": nothing tells the rows of this view apart, so there is a list of them only',
      'note: "sales_by_store": nothing tells the rows of this view apart, so there is a list of them only',
      'note: the column "password" of "staff" sounds like a secret: no client sees it',
      'note: the column "active" of "staff" says who may do more: no client writes it',
      'note: "staff" are people: any caller changes them, until rules.ts says who may',
      'note: "staff_list": nothing tells the rows of this view apart, so there is a list of them only',
      '',
    ])
  })

  it('is formatted, and names the database nowhere', async () => {
    expect(await formatFaults(folder)).toBe('')
    const written = JSON.stringify(readFiles(join(folder, 'src')))
    const { database: name, password } = database.direct
    expect(written).not.toContain(String(name))
    if (password) expect(written).not.toContain(String(password))
  })

  it('compiles, as strictly as there is, its client with it, and its rules', { timeout: 60_000 }, async () => {
    uncommentRules(folder)
    expect(readFileSync(join(folder, 'src/rules.ts'), 'utf8')).toContain('\n  rule(Staff, {\n    update: ')
    writeFileSync(join(folder, 'use.ts'), USE)
    expect(await compile(folder)).toBe('')
  })

  it.each(['explain', 'openapi'])('is what %s reads, with the database of DATABASE_URL', async (command) => {
    const { child, output } = startProgram({
      command: process.execPath,
      args: ['--import', 'tsx', 'lib/cli/main.ts', command, join(folder, 'src/api.ts')],
      env: { DATABASE_URL: toUrl(database.direct), TSX_TSCONFIG_PATH: join(folder, 'tsconfig.json') },
    })
    const [code] = await once(child, 'close')
    expect([code, output()]).toEqual([0, expect.anything()])
    expect(output()).toContain(command === 'explain' ? 'film-list' : '"/api/films/{id}"')
  })

  it('refuses everybody until somebody is let in', async () => {
    app = await start(folder, toUrl(database.direct))
    expect(app.program.output()).toContain('Every request is refused')
    expect((await app.client.send({ path: '/api/films' })).status).toBe(401)
    expect(await app.program.stop()).toBe(0)
  })

  it('answers every list and object', async () => {
    letIn(folder)
    app = await start(folder, toUrl(database.direct))
    const { paths, faults } = await askEverything(app.client, {
      '/api/payments': ['payment_date', 'payment_id'],
    })
    expect(faults).toEqual([])
    // nothing says that the id of this view is unique
    expect(paths).not.toContain('/api/customer-lists/1')
    expect(paths.length).toBeGreaterThan(30)
    expect((await app.client.send({ path: '/api/films' })).status).toBe(401)
  })

  it('shows related objects, takes writes, and shows no secret', async () => {
    const headers = { authorization: 'Token x', 'content-type': 'application/json' }
    const film = await app.client.send({ path: '/api/films/1?expand=language,original_language', headers })
    expect(film.json).toMatchObject({
      title: 'ACADEMY DINOSAUR',
      rating: 'PG-13',
      rental_rate: '4.99',
      special_features: ['Trailers', 'Deleted Scenes'],
      language: { name: 'English             ' },
      original_language: { language_id: 2 },
    })
    const body = JSON.stringify({ film_id: 1, store_id: 1 })
    const made = await app.client.send({ path: '/api/inventories', headers, body })
    expect([made.status, made.json.inventory_id]).toEqual([201, 2])
    expect((await app.client.send({ path: '/api/staffs/1', headers })).text).not.toContain('not for clients')
    const unpaid = JSON.stringify({
      customer_id: 1,
      staff_id: 1,
      rental_id: 1,
      amount: '1.00',
      payment_date: '2022-02-02T00:00:00Z',
    })
    expect((await app.client.send({ path: '/api/payments', headers, body: unpaid })).status).toBe(201)
  })
})
