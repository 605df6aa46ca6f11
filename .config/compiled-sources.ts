/**
 * For tests: the package's own modules are compiled once for a run, into few files, and loaded by Node itself, as in an application.
 * Beside them lie the modules of `test` and `examples`, each by itself, of which tests start some as programs.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import { buildSync, transformSync } from 'esbuild'

const FOLDERS = ['lib', 'plugins']
/** What imports them. */
const IMPORTERS = ['test', 'examples', 'lib/cli']
/** Where programs are that tests start. */
const PROGRAMS = ['test', 'examples']
/** What a program says for `koa-viewsets`, or for a door of it. */
const NAMED = /(?<=\b(?:from |import\(|import ))"(koa-viewsets(?:\/[a-z-]+)?)"/g
const IMPORTED = /\b(?:from|import\()\s*'(\.\.\/[^']+)\.js'/g
/** It imports modules of applications, which tests write in TypeScript. */
const COMMANDS = join('lib', 'cli') + sep
const DAY_IN_MILLISECONDS = 24 * 60 * 60 * 1000

interface ResolvingPlugin {
  readonly name: string
  readonly enforce: 'pre'
  resolveId(source: string, importer?: string): { id: string; external: true } | undefined
}

/** @param doors the files that the names of the package stand for */
export function compiledSources(root: string, doors: (source: string) => string | undefined): ResolvingPlugin {
  const compiled = compile(root, doors)
  // for the programs that tests start
  process.env['COMPILED_SOURCES'] = compiled
  return {
    name: 'compiled-sources',
    enforce: 'pre',
    resolveId(source, importer) {
      const path = doors(source) ?? (source.startsWith('.') && importer ? resolve(dirname(importer), source) : source)
      if (!isAbsolute(path)) return undefined
      const place = relative(root, path)
      if (!FOLDERS.some((folder) => place.startsWith(folder + sep)) || place.startsWith(COMMANDS)) return undefined
      const file = join(compiled, place.replace(/\.[jt]s$/, '.js'))
      if (!existsSync(file)) throw new Error(`${place} was not found among what tests import: write the path in full`)
      return { id: file, external: true }
    },
  }
}

/** The folder with the modules, made anew where a file has changed since. */
function compile(root: string, doors: (source: string) => string | undefined): string {
  const programs = PROGRAMS.flatMap((folder) => sourcesIn(root, folder)).filter((file) => !/\.test\.|\.tsx$/.test(file))
  const files = [...FOLDERS.flatMap((folder) => sourcesIn(root, folder)), ...programs]
  const entries = importedFrom(root)
  const hash = createHash('sha256')
    .update(entries.join())
    .update(readFileSync(join(root, '.config', 'compiled-sources.ts')))
  for (const file of files.sort()) hash.update(file).update('\0').update(readFileSync(file)).update('\0')
  const cache = join(root, 'node_modules/.cache/koa-viewsets')
  const folder = join(cache, hash.digest('hex').slice(0, 32))
  if (existsSync(folder)) return folder
  mkdirSync(cache, { recursive: true })
  for (const name of readdirSync(cache)) {
    if (statSync(join(cache, name)).mtimeMs < Date.now() - DAY_IN_MILLISECONDS)
      rmSync(join(cache, name), { recursive: true })
  }
  const making = `${folder}.${process.pid}`
  buildSync({
    entryPoints: entries.map((place) => join(root, place)),
    outbase: root,
    outdir: making,
    bundle: true,
    splitting: true,
    // names of classes are read, in messages and by explain()
    keepNames: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    target: 'node20',
    sourcemap: 'linked',
    logLevel: 'error',
  })
  for (const file of programs) {
    const place = join(making, relative(root, file)).replace(/ts$/, 'js')
    mkdirSync(dirname(place), { recursive: true })
    writeFileSync(place, compileProgram(file, root, doors))
  }
  writeFileSync(join(making, 'package.json'), '{ "type": "module" }\n')
  // another run may have been faster
  if (existsSync(folder)) rmSync(making, { recursive: true })
  else renameSync(making, folder)
  return folder
}

/** Others of ours are found as they lie; `import.meta.url` stays that of the source, beside which a module's other files are. */
function compileProgram(file: string, root: string, doors: (source: string) => string | undefined): string {
  const { code } = transformSync(readFileSync(file, 'utf8'), {
    loader: 'ts',
    target: 'node20',
    define: { 'import.meta.url': JSON.stringify(pathToFileURL(file).href) },
  })
  const up = relative(dirname(file), root)
  return code.replace(NAMED, (_, name: string) =>
    JSON.stringify(`${up}/${relative(root, doors(name) ?? name).replace(/ts$/, 'js')}`),
  )
}

/** The modules that tests import, and the doors of the package. */
function importedFrom(root: string): readonly string[] {
  const doors = readdirSync(join(root, 'lib')).map((folder) => join('lib', folder, 'index.ts'))
  const places = new Set(['lib/index.ts', 'plugins/index.ts', ...doors])
  for (const file of IMPORTERS.flatMap((folder) => sourcesIn(root, folder))) {
    for (const [, place] of readFileSync(file, 'utf8').matchAll(IMPORTED))
      places.add(relative(root, resolve(dirname(file), `${place}.ts`)))
  }
  const isOurs = (place: string) =>
    FOLDERS.some((folder) => place.startsWith(folder + sep)) && !place.startsWith(COMMANDS)
  return [...places].filter((place) => isOurs(place) && existsSync(join(root, place))).sort()
}

function sourcesIn(root: string, folder: string): readonly string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !name.includes('node_modules'))
    .map((name) => join(root, folder, name))
}
