/** An application that `koa-viewsets init` has written into a folder, compiled and served as a user does it. */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runCommand } from '../../lib/cli/run-command.js'
import { createFolder } from './files.js'
import { findFreePort, type Program, startProgram, untilAnswer } from './program.js'
import { connectTo, type TestClient } from './server.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** What a run of the command has printed. */
export interface Printed {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs the command in this process, for the database of a URL. */
export async function runFor(url: string | undefined, ...args: string[]): Promise<Printed> {
  const written = { stdout: '', stderr: '' }
  const output = (name: keyof typeof written) => ({ write: (text: string) => (written[name] += text) })
  const { DATABASE_URL: before } = process.env
  delete process.env['DATABASE_URL']
  if (url !== undefined) process.env['DATABASE_URL'] = url
  try {
    const code = await runCommand(args, { stdout: output('stdout'), stderr: output('stderr') })
    return { code, ...written }
  } finally {
    delete process.env['DATABASE_URL']
    if (before !== undefined) process.env['DATABASE_URL'] = before
  }
}

/** A folder where TypeScript and Node find this package and its peers by their names. */
export function createAppFolder(): string {
  const path = (file: string) => join(ROOT, file)
  const folder = createFolder({
    'package.json': '{ "type": "module" }',
    'tsconfig.json': JSON.stringify({
      extends: path('tsconfig.json'),
      compilerOptions: {
        typeRoots: [path('node_modules/@types')],
        paths: {
          'koa-viewsets': [path('lib/index.ts')],
          'koa-viewsets/plugins': [path('plugins/index.ts')],
          'koa-viewsets/client': [path('lib/client/index.ts')],
          'koa-viewsets/rules': [path('lib/rules/index.ts')],
        },
      },
      include: ['src', '*.ts'],
    }),
  })
  symlinkSync(path('node_modules'), join(folder, 'node_modules'))
  return folder
}

/** What the compiler says of a folder; empty where it is content. */
export async function compile(folder: string): Promise<string> {
  return run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder])
}

/** What the formatter and the sorter of imports would change; empty where nothing. */
export async function formatFaults(folder: string): Promise<string> {
  const { formatter, javascript, assist } = JSON.parse(readFileSync(join(ROOT, '.config/biome.json'), 'utf8'))
  writeFileSync(
    join(folder, 'biome.json'),
    JSON.stringify({ formatter, javascript, assist, linter: { enabled: false } }),
  )
  return run(join(ROOT, 'node_modules/.bin/biome'), ['check', `--config-path=${folder}`, join(folder, 'src')])
}

async function run(program: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    execFile(program, args, (error, stdout, stderr) => resolve(error ? stdout + stderr || error.message : ''))
  })
}

/** Lets any token in, as the first edit of a user would. */
export function letIn(folder: string): void {
  writeFileSync(
    join(folder, 'src/authentication.ts'),
    `import { type Authentications, TokenAuthentication } from 'koa-viewsets'
export const authenticationClasses: Authentications = [new TokenAuthentication({ getUserForToken: (id) => ({ id }) })]
`,
  )
}

/** `rules.ts` as somebody leaves it for whom all of its guesses are right. */
export function uncommentRules(folder: string): void {
  const path = join(folder, 'src/rules.ts')
  const text = readFileSync(path, 'utf8')
  writeFileSync(path, text.replace(/^( *)\/\/ (?=import|rule\(| {2}\w+: |\}\))/gm, '$1'))
}

export interface RunningApp {
  readonly program: Program
  readonly client: TestClient
}

/** Starts `src/main.ts` and waits until it listens. */
export async function start(folder: string, url: string): Promise<RunningApp> {
  if (!existsSync(join(folder, 'src/main.ts'))) throw new Error('there is no src/main.ts')
  const port = await findFreePort()
  const program = startProgram({
    command: process.execPath,
    args: ['--import', 'tsx', join(folder, 'src/main.ts')],
    env: { DATABASE_URL: url, PORT: String(port) },
  })
  await untilAnswer(program, port, '/api/')
  return { program, client: connectTo(port) }
}

/** Asks for every list, and each object of it that has a path; returns the answers that are not 200, and the paths that were asked. */
export async function askEverything(
  client: TestClient,
  composite: Readonly<Record<string, readonly string[]>> = {},
): Promise<{ paths: string[]; faults: string[] }> {
  const headers = { authorization: 'Token x' }
  const paths: string[] = []
  const faults: string[] = []
  const ask = async (path: string) => {
    paths.push(path)
    const answer = await client.send({ path, headers })
    if (answer.status !== 200) faults.push(`${answer.status} ${path} ${answer.text}`)
    return answer.json
  }
  const document = (await client.send({ path: '/api/', headers })).json as Record<string, string>
  for (const list of Object.values(document)) {
    const page = await ask(list)
    const options = await client.send({ method: 'OPTIONS', path: `${list}/1`, headers })
    if (options.status === 404) continue
    const lookup = await keysOf(client, list, composite[list])
    for (const key of lookup) await ask(`${list}/${key}`)
    if ((page?.results?.length ?? 0) !== lookup.length) faults.push(`${list}: ${lookup.length} keys`)
  }
  return { paths, faults }
}

async function keysOf(client: TestClient, list: string, names?: readonly string[]): Promise<readonly string[]> {
  const { json } = await client.send({ path: list, headers: { authorization: 'Token x' } })
  // JavaScript moves a property "0" to the front
  const keyOf = (row: Record<string, unknown>) =>
    names ? names.map((name) => row[name]).join() : Object.entries(row).find(([name]) => !/^\d+$/.test(name))?.[1]
  return json.results.map((row: Record<string, unknown>) => encodeURIComponent(String(keyOf(row))))
}
