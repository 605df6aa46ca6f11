/** A page that is a program: loaded, on a database of its own, and served until the test ends. */
import { existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Knex } from 'knex'
import type Koa from 'koa'
import { type APIRouter, configure } from 'koa-viewsets'
import { errors } from 'koa-viewsets/plugins'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { blocksOf, type Page } from './book.js'
import { programFiles } from './checked-blocks.js'
import { createDatabase } from './database.js'
import { createFolder } from './files.js'
import { toUrl } from './program.js'
import { serve } from './server.js'
import { askCurl, expectPrinted, stepsOf } from './tutorial.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** A picture, which pages send as `cover.png`. */
export const COVER = Buffer.from(PNG, 'base64')

/** What the blocks have made and taken. */
interface Made {
  readonly app: Koa
  readonly api: APIRouter
  readonly knex: Knex
}

export interface PageProgram extends Made {
  readonly port: number
  /** Outside of the app's pool. */
  readonly client: pg.Client
  /** Its files, which requests may send. */
  readonly folder: string
  /** What the app's `error` event got. */
  readonly reported: readonly unknown[]
  /** What blocks export, and the names of the setup. */
  readonly names: Readonly<Record<string, unknown>>
}

interface PageOptions {
  /** A folder of packages that come before those of the project. */
  readonly modules?: string
  /** What is done in the page's folder before its blocks run. */
  readonly before?: (folder: string) => Promise<void>
}

/** Runs the page's SQL, then its blocks, and serves what they have made. */
export async function startPage(page: Page, options: PageOptions = {}): Promise<PageProgram> {
  const database = await createDatabase()
  onTestFinished(() => database.drop())
  const client = new pg.Client(database.direct)
  await client.connect()
  onTestFinished(() => client.end())
  for (const { language, text } of blocksOf(page)) if (language === 'sql') await runSql(client, text)

  process.env['DATABASE_URL'] = toUrl(database.direct)
  process.env['SERVICE_SECRET_KEY'] = 'a secret of the book, long enough'
  process.env['ID_KEY'] = 'a key of the book, long enough'
  onTestFinished(() => configure({}))
  const { folder, names } = await load(page, options)
  const { app, api, knex } = names as Partial<Made>
  if (!(app && api && knex)) throw new Error(`${page.path}: its blocks make no api`)
  onTestFinished(() => knex.destroy())
  onTestFinished(() => api.close())
  await api.prepare()
  const reported: unknown[] = []
  app.on('error', (error) => reported.push(error))
  const server = await serve(app.use(errors()).use(api.routes()))
  onTestFinished(() => server.close())
  return { app, api, knex, client, folder, names, reported, port: server.port }
}

/** Roles are the server's, not the database's, so they end with the test. */
async function runSql(client: pg.Client, text: string): Promise<void> {
  await client.query(text)
  for (const [, role] of text.matchAll(/^create role (\w+)/gm)) {
    onTestFinished(async () => void (await client.query(`drop owned by ${role}; drop role ${role}`)))
  }
}

async function load(page: Page, { modules, before }: PageOptions): Promise<Pick<PageProgram, 'folder' | 'names'>> {
  const files = programFiles(page)
  const folder = createFolder({ 'package.json': '{ "type": "module" }', 'cover.png': COVER, ...files })
  const target = join(folder, 'node_modules')
  if (modules === undefined) symlinkSync(join(ROOT, 'node_modules'), target)
  else linkAll([modules, join(ROOT, 'node_modules')], target)
  await before?.(folder)
  const names: Record<string, unknown> = {}
  for (const file of Object.keys(files)) Object.assign(names, await import(join(folder, file)))
  return { folder, names }
}

/** Packages of several folders in one, of those that are in several the first. */
function linkAll(sources: readonly string[], target: string): void {
  mkdirSync(target, { recursive: true })
  for (const source of sources) {
    for (const name of readdirSync(source)) {
      if (name.startsWith('@')) linkAll([join(source, name)], join(target, name))
      else if (!existsSync(join(target, name))) symlinkSync(join(source, name), join(target, name))
    }
  }
}

/** The page's requests are answered as it says. */
export async function expectAnswers(page: Page, { port, client, folder }: PageProgram): Promise<void> {
  for (const step of stepsOf(page)) {
    const isQuery = step.command.startsWith('psql')
    expectPrinted(page.path, step, isQuery ? await printTable(client, step.command) : await askCurl(step, port, folder))
  }
}

/** What `psql name --csv -c '…'` prints. */
async function printTable(client: pg.Client, command: string): Promise<string> {
  const [, text = ''] = /-c '([^']*)'/.exec(command) ?? []
  // texts as PostgreSQL writes them
  const types = { getTypeParser: () => String }
  const { fields, rows } = await client.query<(string | null)[]>({ text, rowMode: 'array', types })
  const lines = [fields.map(({ name }) => name), ...rows].map((cells) => cells.map(quoted).join(','))
  return `${lines.join('\n')}\n`
}

function quoted(cell: string | null): string {
  const text = cell ?? ''
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
