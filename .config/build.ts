/**
 * Makes dist: declarations by the compiler, a file for each module, and the modules in few files by Rollup, as a process that
 * reads 530 of them starts in twice the time and holds 3 MB more; the doors as CommonJS, too. `--modules` keeps a file for each, for profiles, `--to <folder>`
 * makes it elsewhere, and `--no-declarations` leaves the compiler out.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { transform } from 'esbuild'
import { type OutputChunk, type OutputOptions, type Plugin, rollup } from 'rollup'

const ROOT = resolve(import.meta.dirname, '..')
const { values: options } = parseArgs({
  options: {
    declarations: { type: 'boolean', default: true },
    modules: { type: 'boolean', default: false },
    to: { type: 'string', default: join(ROOT, 'dist') },
  },
  allowNegative: true,
})
const DIST = resolve(options.to)

interface Manifest {
  readonly bin: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>
}

const { bin, exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest
const doors = Object.values(exports).flatMap((door) => (typeof door === 'string' ? [] : door.default))

/** The sources of what package.json names, by their paths in dist without extension. */
function entries(paths: readonly string[]): Record<string, string> {
  const names = paths.map((path) => path.replace(/^(\.\/)?dist\//, '').replace(/\.js$/, ''))
  return Object.fromEntries(names.map((name) => [name, join(ROOT, `${name}.ts`)]))
}

/** Modules of ours without their types and comments; others are left where they are. */
const SOURCES: Plugin = {
  name: 'sources',
  resolveId(source, importer) {
    if (importer === undefined) return source
    if (!source.startsWith('.')) return { id: source, external: true }
    return resolve(dirname(importer), source).replace(/\.js$/, '.ts')
  },
  async transform(code, id) {
    const compiled = await transform(code, { loader: 'ts', target: 'node20', sourcefile: id })
    return { code: compiled.code, map: null }
  },
  resolveImportMeta: (property, { format }) =>
    format === 'cjs' && property === 'url' ? `require('node:url').pathToFileURL(__filename).href` : null,
}

/** Their names are read: by `explain()`, in messages, and in the document. */
function refuseRenamedClasses({ fileName, code }: OutputChunk): void {
  const renamed = /\bclass (\w+)\$\d+/.exec(code)
  if (renamed)
    throw new Error(`${fileName} has two classes ${renamed[1]}, of which one was renamed: call it differently.`)
}

/** The same without what TypeScript before 5.0 cannot read, where package.json sends it: `const` of type parameters. */
function writeOlderDeclarations(): void {
  const files = readdirSync(DIST, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.d.ts'))
  for (const name of files) {
    const text = readFileSync(join(DIST, name), 'utf8').replace(/(?<=[<,]\s*)const (?=\w+ extends\b)/g, '')
    const older = join(DIST, 'before-5', name)
    mkdirSync(dirname(older), { recursive: true })
    writeFileSync(older, text)
  }
}

/** The doors as CommonJS have the declarations of those beside them. */
function writeCommonDeclarations(): void {
  for (const name of Object.keys(entries(doors))) {
    for (const older of ['', 'before-5/']) {
      const file = join(DIST, 'cjs', older, `${name}.d.cts`)
      const from = relative(dirname(file), join(DIST, older, `${name}.js`)).replaceAll('\\', '/')
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, `export * from '${from}'\n`)
    }
  }
}

rmSync(DIST, { recursive: true, force: true })
if (options.declarations) {
  const args = ['--no-install', 'tsc', '-p', join(ROOT, '.config/tsconfig.build.json'), '--outDir', DIST]
  const { status } = spawnSync('npx', args, { cwd: ROOT, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
  writeOlderDeclarations()
  writeCommonDeclarations()
}

async function write(paths: readonly string[], dir: string, extension: string, how: OutputOptions): Promise<void> {
  const bundle = await rollup({
    input: entries(paths),
    plugins: [SOURCES],
    onwarn: (warning) => {
      throw new Error(warning.message)
    },
  })
  const { output } = await bundle.write({
    dir,
    entryFileNames: `[name].${extension}`,
    chunkFileNames: `shared/[name]-[hash].${extension}`,
    hoistTransitiveImports: false,
    ...how,
  })
  for (const file of output) if (file.type === 'chunk') refuseRenamedClasses(file)
}

await write([...Object.values(bin), ...doors], DIST, 'js', {
  format: 'esm',
  ...(options.modules ? { preserveModules: true, preserveModulesRoot: ROOT } : {}),
})
// for what cannot load ES modules by require(), as Jest; Node itself takes those above
await write(doors, join(DIST, 'cjs'), 'cjs', { format: 'cjs', interop: 'default', dynamicImportInCjs: false })
