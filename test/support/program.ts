/** A program in a process of its own, as a user starts it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { join, relative, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { ClientConfig } from 'pg'

export interface Program {
  readonly child: ChildProcess
  /** What it has printed so far, to both streams. */
  output(): string
  /** Sends a signal and returns the exit code, null when the signal ended it. */
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

export interface ProgramOptions {
  command: string
  args: readonly string[]
  env: Record<string, string>
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const START_MILLISECONDS = 60_000

/** The text of a file of the project. */
export function readProjectFile(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

/**
 * In this environment a program of TypeScript takes the package's modules compiled, as tests do, and so do those that it starts;
 * of the project's own programs all modules are compiled, and tsx is not loaded: it begins in a third of the time.
 */
export function compiledModules(): Record<string, string> {
  const folder = process.env['COMPILED_SOURCES']
  if (folder === undefined) return {}
  const loader = pathToFileURL(join(ROOT, '.config/compiled-programs.mjs')).href
  return { COMPILED_SOURCES: folder, NODE_OPTIONS: `--import ${loader}` }
}

/** What Node is given to run a TypeScript file of the project: the file compiled, where tests have compiled it. */
export function argumentsOf(file: string): readonly string[] {
  const compiled = join(process.env['COMPILED_SOURCES'] ?? '', relative(ROOT, resolve(ROOT, file)).replace(/ts$/, 'js'))
  return process.env['COMPILED_SOURCES'] && existsSync(compiled) ? [compiled] : ['--import', 'tsx', file]
}

/** Runs a TypeScript file of the project. */
export function startFile(file: string, env: Record<string, string>): Program {
  return startProgram({ command: process.execPath, args: argumentsOf(file), env: { ...compiledModules(), ...env } })
}

/** Runs a command in the project's folder, with no DATABASE_URL but the given one. */
export function startProgram({ command, args, env }: ProgramOptions): Program {
  const { DATABASE_URL: _, NODE_ENV: __, ...inherited } = process.env
  const ours = args.includes('tsx') ? compiledModules() : {}
  const options = { cwd: ROOT, env: { ...inherited, ...ours, ...env } }
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += String(data)))
  return {
    child,
    output: () => output,
    async stop(signal = 'SIGTERM') {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
      const exit = once(child, 'exit')
      child.kill(signal)
      await exit
      return child.exitCode
    },
  }
}

/** Waits until the program answers the path with 200. @throws Error when it ends before */
export async function untilAnswer(program: Program, port: number, path: string): Promise<void> {
  const end = Date.now() + START_MILLISECONDS
  while ((await statusOf(port, path)) !== 200) {
    if (program.child.exitCode !== null) throw new Error(`it ended:\n${program.output()}`)
    if (Date.now() > end) throw new Error(`no answer:\n${program.output()}`)
    await sleep(20)
  }
}

async function statusOf(port: number, path: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    request({ host: '127.0.0.1', port, path, agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
      .on('error', () => resolve(undefined))
      .end()
  })
}

/** A port that is free, below those that outgoing connections get. */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    const server = createServer().listen(port, '127.0.0.1')
    const free = await Promise.race([
      once(server, 'listening').then(() => true),
      once(server, 'close').then(() => false),
    ]).catch(() => false)
    if (!free) continue
    const { port: found } = server.address() as AddressInfo
    server.close()
    await once(server, 'close')
    return found
  }
}

/** A connection as DATABASE_URL writes it. */
export function toUrl({ host, port, user, password, database }: ClientConfig): string {
  const secret = typeof password === 'string' && password !== '' ? `:${encodeURIComponent(password)}` : ''
  return `postgres://${user}${secret}@/${database}?host=${encodeURIComponent(String(host))}&port=${port}`
}
