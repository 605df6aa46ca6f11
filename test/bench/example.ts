/** What it takes to start the example, as its user starts it. */
import type { ChildProcess } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findFreePort, type Program, startFile, startProgram, untilAnswer } from '../support/program.js'

export interface ExampleFigures {
  /** From `npm start` to the first answer, with all data to load, in seconds. */
  readonly firstStart: number
  /** The same once the data is there, without npm. */
  readonly nextStart: number
  /** Resident memory of the idle server without PostgreSQL, in megabytes; null where the system does not tell. */
  readonly memory: number | null
}

const PATH = '/api/v1/cities/1'
const IDLE_MILLISECONDS = 1_000

/** Starts the example twice, with a cache folder of its own. */
export async function measureExample(): Promise<ExampleFigures> {
  const cache = await mkdtemp(join(tmpdir(), 'kv-bench-'))
  // PostgreSQL runs as another user where we are root
  await chmod(cache, 0o755)
  const port = await findFreePort()
  const env = { PORT: String(port), XDG_CACHE_HOME: cache }
  try {
    const first = await timeStart(() => startProgram({ command: 'npm', args: ['start'], env }), port)
    await first.program.stop()
    const next = await timeStart(() => startFile('examples/atlas/main.ts', env), port)
    await sleep(IDLE_MILLISECONDS)
    const memory = await residentMegabytes(next.program.child)
    await next.program.stop()
    return { firstStart: first.seconds, nextStart: next.seconds, memory }
  } finally {
    await rm(cache, { recursive: true })
  }
}

async function timeStart(start: () => Program, port: number): Promise<{ program: Program; seconds: number }> {
  const begin = performance.now()
  const program = start()
  try {
    await untilAnswer(program, port, PATH)
  } catch (error) {
    await program.stop()
    throw error
  }
  return { program, seconds: (performance.now() - begin) / 1_000 }
}

async function residentMegabytes({ pid }: ChildProcess): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const [, kilobytes] = /VmRSS:\s+(\d+) kB/.exec(status) ?? []
  return kilobytes === undefined ? null : Number(kilobytes) / 1_024
}
