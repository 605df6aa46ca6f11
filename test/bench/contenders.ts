/** Contenders, each in a process of its own, and load for them. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Profiler } from 'node:inspector'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import autocannon, { type LoadRequest } from 'autocannon'
import type { ClientConfig } from 'pg'

/** What a contender's process is told first. */
export interface Start {
  readonly name: 'ours' | 'handwritten' | 'scaled'
  readonly connection: ClientConfig
  /** Processes that share the port. */
  readonly processes: number
  /** Resources that the router of `scaled` has. */
  readonly resources: number
  /** Where `scaled` reads. */
  readonly replicas: readonly ClientConfig[]
}

/** What may be asked of it then. */
export interface Answers {
  /** CPU time used so far, in microseconds. */
  readonly cpu: number
  readonly 'start profile': null
  readonly 'stop profile': Profiler.Profile
}

export interface Contender {
  readonly name: string
  readonly child: ChildProcess
  readonly url: string
}

/** One contender under load for a while. */
export interface Sample {
  readonly requestsPerSecond: number
  /** Of the server's process, in microseconds for each request. */
  readonly cpu: number
}

export interface LoadOptions {
  /** @default 32 */
  readonly connections?: number
  /** @default 1 */
  readonly seconds?: number
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** With this configuration `koa-viewsets` is the built package, as an application has it, and not its source. */
const BUILT = '.config/tsconfig.build.json'

export interface ContenderOptions {
  /** @default 1 */
  readonly processes?: number
  /** @default 10 */
  readonly resources?: number
  /** @default none */
  readonly replicas?: readonly ClientConfig[]
  /** The checkout whose contender it is. @default this one */
  readonly root?: string
}

/** Starts a contender and returns when it answers. */
export async function startContender(
  name: Start['name'],
  connection: ClientConfig,
  { processes = 1, resources = 10, replicas = [], root = ROOT }: ContenderOptions = {},
): Promise<Contender> {
  const child = fork(join(root, 'test/bench/contender-process.ts'), {
    cwd: root,
    execArgv: ['--import', 'tsx'],
    env: { ...process.env, TSX_TSCONFIG_PATH: join(root, BUILT) },
    serialization: 'advanced',
  })
  const start: Start = { name, connection, processes, resources, replicas }
  const port = await exchange<number>(child, start)
  return { name, child, url: `http://127.0.0.1:${port}` }
}

/** Ends a contender's process. */
export async function stopContender({ child }: Contender): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.disconnect()
  await exit
}

/** Asks a contender's process. */
export async function ask<K extends keyof Answers>({ child }: Contender, question: K): Promise<Answers[K]> {
  return exchange<Answers[K]>(child, question)
}

/** Sends these requests over and over. @throws Error one of them fails */
export async function load(
  contender: Contender,
  requests: readonly LoadRequest[],
  { connections = 32, seconds = 1 }: LoadOptions = {},
): Promise<Sample> {
  const before = await ask(contender, 'cpu')
  const result = await autocannon({ url: contender.url, connections, duration: seconds, requests: [...requests] })
  const used = (await ask(contender, 'cpu')) - before
  const { errors, non2xx } = result
  if (errors + non2xx > 0) throw new Error(`${contender.name}: ${errors} errors, ${non2xx} answers not 2xx`)
  return { requestsPerSecond: result.requests.total / result.duration, cpu: used / result.requests.total }
}

/** @throws Error the process ends first */
async function exchange<T>(child: ChildProcess, message: Start | keyof Answers): Promise<T> {
  const ended = new AbortController()
  const { signal } = ended
  const answer = once(child, 'message', { signal })
  const exit = once(child, 'exit', { signal }).then(([code]) => {
    throw new Error(`A contender has ended with ${code}`)
  })
  child.send(message)
  try {
    const [value] = (await Promise.race([answer, exit])) as [T]
    return value
  } finally {
    ended.abort()
    await Promise.allSettled([answer, exit])
  }
}
