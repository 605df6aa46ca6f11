/** A PgBouncer of its own on a unix socket, where the machine has one. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg, { type ClientConfig } from 'pg'

/** How long a client keeps a connection of the server's: until it ends, or until its transaction or its statement ends. */
export type PoolMode = 'session' | 'transaction' | 'statement'

export interface PgBouncerOptions {
  readonly mode: PoolMode
  /** The PostgreSQL behind it. */
  readonly server: ClientConfig
  /** Further lines of its settings; they win over ours. */
  readonly settings?: Readonly<Record<string, string | number>>
}

export interface PgBouncer {
  /** Without a database: it has those of the server. */
  readonly connection: { readonly host: string; readonly port: number; readonly user: string }
  /** What it has logged. */
  output(): string
  /** Ends it at once, with all connections, and removes its folder. */
  stop(): Promise<void>
}

/** Its file name ends in this, in a folder of its own. */
const PORT = 6432

/** The version of the program as `1.18`, or undefined where it is not installed. */
export function findPgBouncer(): number[] | undefined {
  const { stdout, status } = spawnSync('pgbouncer', ['--version'], { encoding: 'utf8' })
  if (status !== 0) return undefined
  return (/(\d+)\.(\d+)/.exec(stdout) ?? []).slice(1).map(Number)
}

/** Says once, beside the skipped tests, why they are skipped. */
export function warnWithoutPgBouncer(): void {
  console.warn('pgbouncer is not installed: nothing is tried behind it')
}

export async function startPgBouncer({ mode, server, settings }: PgBouncerOptions): Promise<PgBouncer> {
  const { host, port, user, password } = new pg.Client(server)
  const folder = mkdtempSync(join(tmpdir(), 'pgbouncer-'))
  // it refuses to run as root, and whoever it runs as makes the socket here
  chmodSync(folder, 0o777)
  const target = { host, port, user, ...(password && { password: `'${password.replaceAll("'", "''")}'` }) }
  const lines = {
    listen_port: PORT,
    unix_socket_dir: folder,
    auth_type: 'any',
    pool_mode: mode,
    max_client_conn: 1000,
    default_pool_size: 50,
    ...settings,
  }
  const file = join(folder, 'pgbouncer.ini')
  writeFileSync(file, `[databases]\n* = ${write(target, ' ')}\n[pgbouncer]\n${write(lines, '\n')}\n`)
  const asRoot = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  const child = spawn('pgbouncer', [...asRoot, file], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  let output = ''
  const ended = once(child, 'close')
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (data) => {
        output += String(data)
        if (output.includes('process up')) resolve()
      })
    }
    child.once('error', reject)
    child.once('close', () => reject(new Error(`pgbouncer has ended:\n${output}`)))
  })
  return {
    connection: { host: folder, port: PORT, user: user ?? '' },
    output: () => output,
    async stop() {
      process.removeListener('exit', kill)
      kill()
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function write(values: object, separator: string): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}=${value}`)
    .join(separator)
}
