/** The cluster example as it is deployed: two processes of the atlas behind a real nginx. Needs `nginx` on the PATH. */
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readExport } from '../../examples/cluster/read-export.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import {
  findFreePort,
  type Program,
  readProjectFile,
  startFile,
  startProgram,
  toUrl,
  untilAnswer,
} from '../support/program.js'

/** Of those that the first start fills in: pages enough to ask both processes many times. */
const CITIES = 20_000
const EXPORT = '/api/v1/city-export'
const hasNginx = spawnSync('nginx', ['-v']).status === 0
if (!hasNginx) console.warn('nginx is not installed: the cluster example is not tried behind it')

interface Page {
  cursor_id: string | null
  results: { id: number }[]
}

describe.skipIf(!hasNginx)('two processes behind nginx', { timeout: 120_000 }, () => {
  let database: TestDatabase
  let folder: string
  let nginx: Program
  let port: number
  const nodes = new Map<string, { program: Program; port: number }>()

  beforeAll(async () => {
    database = await createDatabase()
    folder = await mkdtemp(join(tmpdir(), 'kv-nginx-'))
    for (const name of ['n1', 'n2']) nodes.set(name, await startNode(name))
    await database.knex('cities').where('id', '>', CITIES).delete()
    port = await findFreePort()
    nginx = await startNginx()
    await untilAnswer(nginx, port, '/api/v1/')
  }, 120_000)
  afterAll(async () => {
    await nginx?.stop('SIGQUIT')
    for (const { program } of nodes.values()) await program.stop()
    await database?.drop()
    await rm(folder, { recursive: true, force: true })
  })

  async function startNode(name: string) {
    const own = await findFreePort()
    const env = { DATABASE_URL: toUrl(database.connection), PORT: String(own), SERVICE_NODE: name }
    const program = startFile('examples/atlas/main.ts', env)
    await untilAnswer(program, own, '/api/v1/')
    return { program, port: own }
  }

  async function startNginx(): Promise<Program> {
    const portOf = (name: string) => String(nodes.get(name)?.port)
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      .map((name) => `${name}_temp_path ${folder}/${name};`)
      .join(' ')
    const configuration = readProjectFile('examples/cluster/nginx.conf')
      .replaceAll(/:3001\b|:3002\b/g, (given) => `:${portOf(given === ':3001' ? 'n1' : 'n2')}`)
      .replace('listen 8080', `listen 127.0.0.1:${port}`)
      .replace('http {', `http { access_log off; ${temporary}`)
    const file = join(folder, 'nginx.conf')
    await writeFile(file, `pid ${folder}/nginx.pid;\n${configuration}`)
    return startProgram({
      command: 'nginx',
      args: ['-p', folder, '-c', file, '-e', join(folder, 'error.log'), '-g', 'daemon off;'],
      env: {},
    })
  }

  const url = (path: string) => `http://127.0.0.1:${port}${path}`

  async function page(cursor?: string): Promise<{ status: number; body: Page }> {
    const response = await fetch(url(cursor === undefined ? EXPORT : `${EXPORT}?server_cursor=${cursor}`))
    return { status: response.status, body: (await response.json()) as Page }
  }

  it('[H2] counts searches over both processes together', async () => {
    const statuses: number[] = []
    for (let batch = 0; batch < 13; batch++) {
      const answers = await Promise.all(Array.from({ length: 10 }, () => fetch(url('/api/v1/city-search?page_size=1'))))
      for (const answer of answers) {
        await answer.text()
        statuses.push(answer.status)
      }
    }
    expect(statuses.filter((status) => status === 200)).toHaveLength(120)
    expect(new Set(statuses)).toEqual(new Set([200, 429]))
  })

  it('sends all pages of a cursor to the process that holds it, whichever that is', async () => {
    const opened = await Promise.all([page(), page(), page(), page()])
    const ids = opened.map(({ body }) => body.cursor_id as string)
    expect(new Set(ids.map((id) => id.slice(0, 3)))).toEqual(new Set(['n1.', 'n2.']))
    for (const id of ids) {
      const next = await page(id)
      expect([next.status, next.body.cursor_id, next.body.results.length]).toEqual([200, id, 1_000])
    }
  })

  it(`walks ${CITIES} cities exactly once`, async () => {
    const cities = await readExport<{ id: number }>(url(EXPORT))
    expect(cities.length).toBe(CITIES)
    expect(new Set(cities.map(({ id }) => id)).size).toBe(CITIES)
  })

  it('[D15] answers 404 for the cursors of a process that has gone, and the client starts again', async () => {
    let held: string | null = null
    while (!held?.startsWith('n1.')) held = (await page()).body.cursor_id
    const reading = readExport<{ id: number }>(url(EXPORT))
    await nodes.get('n1')?.program.stop('SIGKILL')
    const lost = await page(held)
    expect([lost.status, lost.body]).toEqual([404, { detail: 'Cursor not found', status: 404 }])
    expect((await reading).length).toBe(CITIES)
    const { status, body } = await page()
    expect([status, body.cursor_id?.slice(0, 3)]).toEqual([200, 'n2.'])
  })
})
