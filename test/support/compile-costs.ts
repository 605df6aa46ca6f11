/** What a compiler says of its own work on a folder of sources. */
import { execFile } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Files } from './typed-app.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export interface CompileCost {
  readonly instantiations: number
  readonly types: number
  /** Seconds of the processor, for all of the work: others who use the machine do not count. */
  readonly seconds: number
  /** Megabytes. */
  readonly memory: number
}

/** A compiler: the file that Node runs, and its arguments. */
export interface Compiler {
  readonly name: string
  readonly args: readonly string[]
}

/** The compiler of this repository, on one thread, and those before it, of the examples' workspaces. */
export function compilers(): readonly Compiler[] {
  const own = (workspace: string) =>
    createRequire(join(ROOT, 'examples', workspace, 'package.json')).resolve('typescript/bin/tsc')
  return [
    { name: 'TypeScript 7, one thread', args: [join(ROOT, 'node_modules/typescript/bin/tsc'), '--singleThreaded'] },
    { name: 'TypeScript 6', args: [own('tanstack')] },
    { name: 'TypeScript 5.9', args: [own('client')] },
  ]
}

/**
 * Writes an application into a folder, over declarations of this package.
 * @param declarations the folder where `lib/index.d.ts` is
 */
export function writeTypedApp(folder: string, files: Files, declarations: string): void {
  const path = (file: string) => join(ROOT, file)
  const all: Files = {
    ...files,
    'package.json': '{ "type": "module" }',
    'tsconfig.json': JSON.stringify({
      extends: path('tsconfig.json'),
      compilerOptions: {
        typeRoots: [path('node_modules/@types')],
        paths: {
          'koa-viewsets': [join(declarations, 'lib/index.d.ts')],
          'koa-viewsets/client': [join(declarations, 'lib/client/index.d.ts')],
        },
      },
      include: ['**/*.ts'],
    }),
  }
  for (const [name, text] of Object.entries(all)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  symlinkSync(path('node_modules'), join(folder, 'node_modules'))
}

/** Prints what the command and its children have computed, after what they print. */
const TIMED = '"$@"; status=$?; times; exit $status'

/** @throws Error the application does not compile */
export async function measure(folder: string, { args }: Compiler): Promise<CompileCost> {
  const command = [process.execPath, ...args, '-p', folder, '--extendedDiagnostics']
  const output = await new Promise<string>((resolve, reject) => {
    execFile('bash', ['-c', TIMED, 'bash', ...command], (error, stdout, stderr) => {
      if (error) reject(new Error(stdout + stderr || error.message))
      else resolve(stdout)
    })
  })
  const figure = (label: string) =>
    Number.parseFloat(new RegExp(`^${label}: +([\\d.]+)`, 'm').exec(output)?.[1] ?? 'NaN')
  const [, minutes, seconds] = /(\d+)m([\d.]+)s \d+m[\d.]+s\s*$/.exec(output) ?? []
  return {
    instantiations: figure('Instantiations'),
    types: figure('Types'),
    seconds: Number(minutes) * 60 + Number(seconds),
    memory: Math.round(figure('Memory used') / 1024),
  }
}
