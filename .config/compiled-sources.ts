/** For tests: the package's own modules are compiled once for a run and loaded by Node itself, as in an application. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { buildSync } from 'esbuild'

const FOLDERS = ['lib', 'plugins']
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
  const compiled = compile(root)
  return {
    name: 'compiled-sources',
    enforce: 'pre',
    resolveId(source, importer) {
      const path =
        doors(source) ?? (source.startsWith('.') && importer ? resolve(dirname(importer), source) : undefined)
      if (path === undefined) return undefined
      const place = relative(root, path)
      if (!FOLDERS.some((folder) => place.startsWith(folder + sep)) || place.startsWith(COMMANDS)) return undefined
      return { id: join(compiled, place.replace(/\.ts$/, '.js')), external: true }
    },
  }
}

/** The folder with the modules, made anew where a file has changed since. */
function compile(root: string): string {
  const files = FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => join(root, folder, name)),
  )
  const hash = createHash('sha256')
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
    entryPoints: files,
    outbase: root,
    outdir: making,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    sourcemap: 'linked',
    logLevel: 'error',
  })
  writeFileSync(join(making, 'package.json'), '{ "type": "module" }\n')
  // another run may have been faster
  if (existsSync(folder)) rmSync(making, { recursive: true })
  else renameSync(making, folder)
  return folder
}
