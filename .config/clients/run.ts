/**
 * Generators of clients, tried on the document: `npm run test:clients`. Each writes a client of the atlas and of a shop with a bit
 * of everything without a warning, all of them compile under `strict`, and each lists, retrieves, creates, uploads, is
 * refused, and creates several at once. The generators are no dependencies of the project: they are installed here.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import knex, { type Knex } from 'knex'
import Koa from 'koa'
import { configure } from 'koa-viewsets'
import { errors } from 'koa-viewsets/plugins'
import { Model } from 'objection'
import { createAtlas } from '../../examples/atlas/atlas.js'
import { startPostgres } from '../../examples/support/postgres.js'
import { SCHEMA, shop } from './shop.js'
import type { Trip } from './use/trip.js'

const run = promisify(execFile)
const FOLDER = fileURLToPath(new URL('.', import.meta.url))
const GENERATED = join(FOLDER, 'generated')
const DOCUMENTS = ['shop', 'atlas'] as const
const PORT = 25_114

/** A generator, and the command that writes a client. */
interface Generator {
  readonly name: string
  /** The files that it reads, beside the document. */
  readonly files?: (document: string) => Readonly<Record<string, string>>
  readonly command: (document: string) => readonly [program: string, ...args: string[]]
}

const source = (document: string) => join(GENERATED, `${document}.json`)
const target = (name: string, ...path: string[]) => join(GENERATED, name, ...path)

const GENERATORS: readonly Generator[] = [
  {
    name: 'hey-api',
    command: (document) => [
      'openapi-ts',
      '-i',
      source(document),
      '-o',
      target('hey-api', document),
      '-c',
      '@hey-api/client-fetch',
    ],
  },
  {
    name: 'openapi-typescript',
    command: (document) => [
      'openapi-typescript',
      source(document),
      '-o',
      target('openapi-typescript', `${document}.ts`),
    ],
  },
  {
    name: 'swagger-typescript-api',
    command: (document) => [
      'swagger-typescript-api',
      ...['generate', '-p', source(document), '-o', target('swagger-typescript-api'), '-n', `${document}.ts`],
    ],
  },
  { name: 'oazapfts', command: (document) => ['oazapfts', source(document), target('oazapfts', `${document}.ts`)] },
  {
    name: 'orval',
    files: (document) => ({
      [`orval-${document}.cjs`]: `module.exports = ${JSON.stringify(orvalOptions(document))}\n`,
    }),
    command: (document) => ['orval', '--config', target('orval', `orval-${document}.cjs`)],
  },
  {
    name: 'kubb',
    files: (document) => ({ [`kubb-${document}.mjs`]: kubbOptions(document) }),
    command: (document) => ['kubb', 'generate', '--config', target('kubb', `kubb-${document}.mjs`)],
  },
  {
    name: 'rtk-query',
    files: (document) => ({
      'base.ts': RTK_BASE,
      [`rtk-${document}.cjs`]: `module.exports = ${JSON.stringify(rtkOptions(document))}\n`,
    }),
    command: (document) => ['rtk-query-codegen-openapi', target('rtk-query', `rtk-${document}.cjs`)],
  },
  {
    name: 'ng-openapi-gen',
    command: (document) => ['ng-openapi-gen', '-i', source(document), '-o', target('ng-openapi-gen', document)],
  },
  {
    name: 'openapi-zod-client',
    command: (document) => [
      'openapi-zod-client',
      source(document),
      '-o',
      target('openapi-zod-client', `${document}.ts`),
    ],
  },
]

function orvalOptions(document: string): object {
  const output = (kind: string) => ({ target: target('orval', `${document}-${kind}.ts`), client: kind })
  return {
    fetch: { input: source(document), output: { ...output('fetch'), baseUrl: `http://127.0.0.1:${PORT}`, mock: true } },
    zod: { input: source(document), output: output('zod') },
  }
}

function kubbOptions(document: string): string {
  const plugins = `[pluginOas(), pluginTs(), pluginClient({ client: 'fetch' })]`
  const options = `{ root: ${JSON.stringify(GENERATED)}, input: { path: ${JSON.stringify(source(document))} }, output: { path: ${JSON.stringify(target('kubb', document))} }, plugins: ${plugins} }`
  const packages = {
    defineConfig: 'core',
    pluginOas: 'plugin-oas',
    pluginTs: 'plugin-ts',
    pluginClient: 'plugin-client',
  }
  const imports = Object.entries(packages).map(([name, from]) => `import { ${name} } from '@kubb/${from}'\n`)
  return `${imports.join('')}export default defineConfig(${options})\n`
}

const RTK_BASE = `import { createApi, fetchBaseQuery } from '@reduxjs/toolkit/query'
export const address = { baseUrl: '' }
export const api = createApi({
  baseQuery: (args, api, extra) => fetchBaseQuery({ baseUrl: address.baseUrl })(args, api, extra),
  endpoints: () => ({}),
})
`

function rtkOptions(document: string): object {
  const files = { apiFile: './base.ts', outputFile: `./${document}.ts` }
  return { ...files, schemaFile: source(document), apiImport: 'api', exportName: `${document}Api`, hooks: false }
}

/** Warnings of a document; a tool may warn of what it is made of itself. */
const WARNING = /\bwarn|\berror/i
const OF_THE_TOOL = /DeprecationWarning|node --trace|Writing |Wrote |[Pp]rettier/

async function generate({ name, files, command }: Generator, document: string): Promise<void> {
  await mkdir(target(name), { recursive: true })
  for (const [file, text] of Object.entries(files?.(document) ?? {})) await writeFile(target(name, file), text)
  const [program, ...args] = command(document)
  const options = { cwd: GENERATED, maxBuffer: 2 ** 26 }
  const { stdout, stderr } = await run(join(FOLDER, 'node_modules/.bin', program), args, options)
  const lines = `${stdout}\n${stderr}`.split('\n')
  const warnings = lines.filter((line) => WARNING.test(line) && !OF_THE_TOOL.test(line))
  assert.deepEqual(warnings, [], `${name} warns of the ${document}`)
}

async function writeDocuments(database: Knex): Promise<() => Promise<void>> {
  const files = await mkdtemp(join(tmpdir(), 'kv-clients-'))
  await database.raw(SCHEMA)
  Model.knex(database)
  const api = shop(files)
  await api.prepare()
  await writeFile(source('shop'), JSON.stringify(api.getSchema({ title: 'Shop' })))
  const app = new Koa().use(errors()).use(api.routes())
  const server = app.listen(PORT, '127.0.0.1')
  await once(server, 'listening')
  assert.equal((server.address() as AddressInfo).port, PORT)
  return async () => {
    server.close()
    await api.close()
    await rm(files, { recursive: true })
  }
}

async function writeAtlas(database: Knex): Promise<void> {
  await database.raw(await readFile(new URL('../../examples/atlas/schema.sql', import.meta.url), 'utf8'))
  const { api } = await createAtlas(database)
  await writeFile(source('atlas'), JSON.stringify(api.getSchema({ title: 'Atlas' })))
  await api.close()
}

async function check(name: string): Promise<void> {
  const file = pathToFileURL(join(FOLDER, 'use', `${name}.ts`)).href
  const { trip } = (await import(file)) as { trip: (url: string) => Trip }
  const client = trip(`http://127.0.0.1:${PORT}`)
  assert.deepEqual((await client.list()).slice(0, 2), ['Ada', 'Ben'])
  assert.equal(await client.retrieve(1), 'book 1')
  assert.equal(await client.create(`Cleo of ${name}`), `Cleo of ${name}`)
  assert.match(await client.upload('A', new File(['text'], 'a.txt', { type: 'text/plain' })), /^\/files\//)
  assert.equal(await client.refuse(), 400)
  assert.equal(await client.bulk([`one of ${name}`, `two of ${name}`]), 2)
  console.log(`${name}: listed, retrieved, created, uploaded, was refused, created several`)
}

configure({ secretKey: 'clients of generators keep no secrets' })
await rm(GENERATED, { recursive: true, force: true })
await mkdir(GENERATED)
const postgres = await startPostgres()
const open = (database: string) => knex({ client: 'pg', connection: { ...postgres.connection, database } })
const main = open('postgres')
try {
  for (const name of DOCUMENTS) await main.raw('create database ??', [name])
  const [atlas, own] = [open('atlas'), open('shop')]
  await writeAtlas(atlas)
  await atlas.destroy()
  const close = await writeDocuments(own)
  for (const generator of GENERATORS) {
    for (const document of DOCUMENTS) await generate(generator, document)
    console.log(`${generator.name}: no warnings`)
  }
  await run(join(FOLDER, 'node_modules/.bin/tsc'), ['-p', FOLDER]).catch(({ stdout }: { stdout: string }) => {
    throw new Error(`the clients do not compile:\n${stdout}`)
  })
  console.log('all compile under strict')
  for (const { name } of GENERATORS) await check(name === 'openapi-typescript' ? 'openapi-fetch' : name)
  await close()
  await own.destroy()
} finally {
  await main.destroy()
  await postgres.stop()
}
