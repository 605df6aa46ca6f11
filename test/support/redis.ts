/** A Redis of its own on a unix socket, where the machine has one. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export interface TestRedis {
  /** The path of its socket. */
  readonly path: string
  /** Starts it, again after `stop`; it has forgotten everything. */
  start(): Promise<void>
  stop(): Promise<void>
  /** Stops it and removes its folder. */
  remove(): Promise<void>
}

/** The program, or undefined where it is not installed. */
export function findRedis(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  const found = ['redis-server', 'valkey-server'].flatMap((name) => folders.map((folder) => join(folder, name)))
  return found.find((path) => existsSync(path))
}

/** Says once, beside the skipped tests, why they are skipped. */
export function warnWithoutRedis(): void {
  console.warn('redis-server is not on the PATH: the tests of throttles on Redis are skipped')
}

/** Starts a server that writes nothing to disk. */
export async function startRedis(program: string): Promise<TestRedis> {
  const folder = mkdtempSync(join(tmpdir(), 'redis-'))
  const path = join(folder, 'socket')
  let child: ChildProcess | undefined
  const redis: TestRedis = {
    path,
    async start() {
      rmSync(path, { force: true })
      const started = spawn(program, ['--port', '0', '--unixsocket', path, '--save', '', '--appendonly', 'no'], {
        cwd: folder,
        stdio: 'ignore',
      })
      child = started
      while (!existsSync(path)) {
        if (started.exitCode !== null) throw new Error(`${program} ended with ${started.exitCode}`)
        await sleep(5)
      }
    },
    async stop() {
      if (!child || child.exitCode !== null || child.signalCode !== null) return
      const exit = once(child, 'exit')
      child.kill('SIGKILL')
      await exit
    },
    async remove() {
      await redis.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
  await redis.start()
  return redis
}
