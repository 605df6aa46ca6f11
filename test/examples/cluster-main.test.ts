/** The whole cluster of examples/cluster, started by its command. Needs `nginx` and `pgbouncer`. */
import { execFile } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { checkPrograms } from '../../examples/cluster/cluster.js'
import { findProgram } from '../../examples/support/programs.js'
import { compiledModules, findFreePort, type Program, readProjectFile, startProgram } from '../support/program.js'
import { connectTo, type TestClient } from '../support/server.js'
import { type Answer, type Send, startLoad } from '../support/steady-load.js'

const execute = promisify(execFile)
const isInstalled = ['nginx', 'pgbouncer', 'curl'].every((name) => findProgram(name))
if (!isInstalled) console.warn('nginx, pgbouncer or curl is not installed: the whole cluster is not tried')

interface Started {
  readonly program: Program
  readonly client: TestClient
  /** Where `n1` listens itself. */
  readonly node: TestClient
  /** Of all that it has started, by its names, as it has printed them last. */
  pids(): Map<string, number>
  /** What it has left in its temporary folder. */
  leftFiles(): string[]
}

/** Runs the command, with a temporary folder and ports of its own. */
async function start(): Promise<Started> {
  const folder = mkdtempSync(join(tmpdir(), 'kv-c-'))
  chmodSync(folder, 0o755)
  const ports = [await findFreePort(), await findFreePort(), await findFreePort()] as const
  const program = startProgram({
    command: 'npm',
    args: ['run', 'example:cluster'],
    env: {
      ...compiledModules(),
      TMPDIR: folder,
      PORT: String(ports[0]),
      NODE_PORTS: `${ports[1]},${ports[2]}`,
      DRAIN_SECONDS: '4',
    },
  })
  onTestFinished(async () => {
    await program.stop('SIGKILL')
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  return {
    program,
    client: connectTo(ports[0]),
    node: connectTo(ports[1]),
    pids() {
      const printed = program.output().matchAll(/^(?: {2}(?<name>\w+) +|(?<again>\w+): is ready, )pid (?<pid>\d+)/gm)
      return new Map(
        [...printed].map(({ groups = {} }) => [(groups['name'] ?? groups['again'])!, Number(groups['pid'])]),
      )
    },
    leftFiles: () => readdirSync(folder).filter((name) => name.startsWith('koa-viewsets')),
  }
}

/** Reads and writes without a pause; each writer reads what it has written. */
function askAlways(port: number) {
  const seen = new Set<string>()
  const stale: string[] = []
  let titles = 0
  const asked = async (answer: Promise<Answer | undefined>) => {
    const { headers, text = '{}' } = (await answer) ?? {}
    seen.add(String(headers?.['x-answered-by']))
    return { json: JSON.parse(text), token: headers?.['consistency-token'] }
  }
  const read = (send: Send) => asked(send('GET', '/api/books'))
  const writeAndRead = async (send: Send) => {
    const title = `Book ${++titles}`
    const { json, token } = await asked(send('POST', '/api/books', { title }))
    const headers = token === undefined ? {} : { 'Consistency-Token': token }
    const found = await asked(send('GET', `/api/books/${json.id}`, undefined, headers))
    if (found.json.title !== title) stale.push(`${title} is ${found.json.title}`)
  }
  const running = startLoad(port, [read, read, read, writeAndRead, writeAndRead])
  return {
    /** Returns when each of these has answered, from now on. */
    async untilSeen(...names: readonly string[]) {
      seen.clear()
      await expect.poll(() => names.filter((name) => !seen.has(name)), { timeout: 30_000 }).toEqual([])
    },
    end: async () => ({ ...(await running.end()), stale }),
  }
}

/** The commands of the README, as they stand there but for the port: a write, a read of what was written, and a list. */
function readmeCurls({ client: { port } }: Started) {
  const folder = mkdtempSync(join(tmpdir(), 'kv-jar-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const lines = readProjectFile('examples/cluster/README.md').match(/^curl -i .*$/gm) ?? []
  expect(lines).toHaveLength(3)
  const commands = lines.map((line) => async () => {
    const { stdout } = await execute('/bin/sh', ['-c', line.replace('8080', String(port))], { cwd: folder })
    return stdout
  })
  return commands as [Curl, Curl, Curl]
}

type Curl = () => Promise<string>

async function untilPrinted({ program }: Started, text: string): Promise<void> {
  await expect
    .poll(() => program.output().includes(text) || program.child.exitCode !== null, { timeout: 60_000 })
    .toBe(true)
  expect(program.output()).toContain(text)
}

/** Who has answered so many requests. */
async function answeredBy(client: TestClient, requests = 1): Promise<Set<string>> {
  const answers = Array.from({ length: requests }, () => client.send({ path: '/api/books' }))
  return new Set((await Promise.all(answers)).map(({ headers }) => String(headers['x-answered-by'])))
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe.skipIf(!isInstalled)('npm run example:cluster', { timeout: 120_000 }, () => {
  it('[I26] [I30] shows what was written while its standby dies and a process is replaced, and leaves nothing running', async () => {
    const cluster = await start()
    await untilPrinted(cluster, 'Ctrl-C stops it.')
    const before = cluster.pids()
    expect([...before.keys()]).toEqual(['nginx', 'n1', 'n2', 'PgBouncer', 'primary', 'standby'])
    const [write, read, list] = readmeCurls(cluster)

    const made = await write()
    expect(made).toMatch(
      /^HTTP\/1.1 201 .*consistency_token=.*X-Answered-By: n[12], primary.*\{"id":1,"title":"Solaris"\}$/s,
    )
    // the standby may need a moment
    await expect.poll(read).toMatch(/X-Answered-By: n[12], standby\r\n/)
    expect(await read()).toContain('{"id":1,"title":"Solaris"}')

    const load = askAlways(cluster.client.port)
    await load.untilSeen('n1, primary', 'n2, primary', 'n1, standby', 'n2, standby')

    process.kill(before.get('standby') as number, 'SIGQUIT')
    await untilPrinted(cluster, 'ReplicaDown')
    await load.untilSeen('n1, primary', 'n2, primary')
    expect(await list()).toMatch(/^HTTP\/1.1 200 .*X-Answered-By: n[12], primary/s)

    process.kill(before.get('n1') as number, 'SIGTERM')
    await expect.poll(() => answeredBy(cluster.client, 10), { timeout: 30_000 }).toEqual(new Set(['n2, primary']))
    // though n1 would still answer
    expect([await answeredBy(cluster.node), (await cluster.node.send({ path: '/readyz' })).status]).toEqual([
      new Set(['n1, primary']),
      503,
    ])
    await untilPrinted(cluster, 'n1: has ended with 0')
    await untilPrinted(cluster, 'n1: is ready, pid')
    await load.untilSeen('n1, primary', 'n2, primary')

    const { failed, answered, written, stale } = await load.end()
    expect([failed.slice(0, 5), stale.slice(0, 5)]).toEqual([[], []])
    expect([answered > 100, written > 10]).toEqual([true, true])

    const after = cluster.pids()
    expect(after.get('n1')).not.toBe(before.get('n1'))
    expect(await cluster.program.stop('SIGINT')).toBe(0)
    expect([...before, ...after].filter(([, pid]) => isAlive(pid))).toEqual([])
    expect(cluster.leftFiles()).toEqual([])
    await expect(cluster.client.send({ path: '/api/books' })).rejects.toThrow('ECONNREFUSED')
  })
})

describe('the programs of an example', () => {
  it('end with the process that has started them, also where that is killed', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'kv-programs-'))
    const source = `
      import { Programs } from './examples/support/programs.ts'
      const started = await Programs.in(${JSON.stringify(folder)}).start({ command: 'sleep', args: ['1000'], onLine() {} })
      console.log('pid', started.pid)`
    const args = ['--import', 'tsx', '--input-type=module', '--eval', source]
    const program = startProgram({ command: process.execPath, args, env: {} })
    await expect.poll(() => program.output(), { timeout: 20_000 }).toMatch(/^pid \d+$/m)
    const pid = Number(/\d+/.exec(program.output()))
    expect([isAlive(pid), existsSync(folder)]).toEqual([true, true])
    await program.stop('SIGKILL')
    await expect.poll(() => [isAlive(pid), existsSync(folder)], { timeout: 20_000 }).toEqual([false, false])
  })

  it('are looked for before any is started, and those that are missing are named', () => {
    expect(() => checkPrograms(['node', 'enginx', 'pgbounce'])).toThrow(
      'The cluster needs enginx and pgbounce, and finds none on the PATH: apt-get install enginx pgbounce, or brew install',
    )
    expect(() => checkPrograms(['node'])).not.toThrow()
  })
})
