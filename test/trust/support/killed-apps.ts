/** Apps in processes that are killed in the middle of their work, and started again. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { findFreePort } from '../../support/program.js'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** A program of one file, which starts in a tenth of the time and stays what it is while a run lasts. */
export interface Bundle {
  readonly file: string
  remove(): void
}

/** Bundles a program of `test/trust/support` with the package's own sources. @param doors those that it imports, such as `changes` */
export async function bundle(name: string, doors: readonly string[]): Promise<Bundle> {
  const folder = mkdtempSync(join(ROOT, 'node_modules', `.${name}-`))
  const file = join(folder, 'server.mjs')
  await build({
    entryPoints: [join(ROOT, `test/trust/support/${name}.ts`)],
    outfile: file,
    bundle: true,
    platform: 'node',
    format: 'esm',
    // decorators are for compilers still
    target: 'node20',
    packages: 'external',
    alias: {
      'koa-viewsets': join(ROOT, 'lib/index.ts'),
      'koa-viewsets/plugins': join(ROOT, 'plugins/index.ts'),
      ...Object.fromEntries(doors.map((door) => [`koa-viewsets/${door}`, join(ROOT, `lib/${door}/index.ts`)])),
    },
    logLevel: 'silent',
  })
  return { file, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/** A process of the app, which tells its parent when it is ready. PORT and DATABASE_URL say where; it has no other environment. */
export class App {
  readonly port: number
  readonly #file: string
  readonly #env: Readonly<Record<string, string>>
  #child: ChildProcess | undefined

  constructor(file: string, port: number, env: Readonly<Record<string, string>>) {
    this.#file = file
    this.port = port
    this.#env = env
  }

  /** The number of its process. */
  get pid(): number | undefined {
    return this.#child?.pid
  }

  async start(): Promise<void> {
    const env = { PATH: process.env['PATH'], PORT: String(this.port), ...this.#env }
    const child = fork(this.#file, [], { execArgv: [], env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    this.#child = child
    await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(() => Promise.reject(new Error('the app has ended at its start'))),
    ])
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, 'exit')
    child.kill('SIGKILL')
    await exit
  }
}

/** Several processes of the app. @param env further variables, such as `{ PREPARED_STATEMENTS: 'false' }` */
export async function startApps(
  file: string,
  url: string,
  count: number,
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly apps: readonly App[]; stop(): Promise<void> }> {
  const apps: App[] = []
  for (let index = 0; index < count; index++)
    apps.push(new App(file, await findFreePort(), { DATABASE_URL: url, ...env }))
  await Promise.all(apps.map((app) => app.start()))
  return {
    apps,
    async stop() {
      await Promise.all(apps.map((app) => app.kill()))
    },
  }
}
