/** Who may import whom (design: kernel, policies, data, views, router, plugins), read from the import statements themselves. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

/** From the bottom up. A folder imports from those in lines above it and from itself; folders in one line do not import each other. */
const layers = [
  ['kernel'], // the files that lie directly in lib
  [
    'versioning',
    'authentication',
    'permissions',
    'throttling',
    'parsers',
    'renderers',
    'caching',
    'metering',
    'assets',
    'models',
  ],
  ['ids'],
  ['queryset'],
  ['api-keys'],
  ['fields'],
  ['serializers'],
  ['filters'],
  ['pagination'],
  ['metadata'],
  ['views'],
  ['openapi'],
  ['router'],
  ['storage', 'cli', 'testing'],
  ['plugins'],
]

/** The one place of each third-party package: a file, a folder of lib, or plugins. */
const places: Record<string, string[]> = {
  '@koa/router': ['router'],
  ajv: ['testing'],
  'content-type': ['parsers'],
  flydrive: ['storage'],
  inflation: ['parsers'],
  inflection: ['lib/naming.ts'],
  'koa-body': ['parsers'],
  'koa-static': ['plugins'],
  negotiator: ['renderers'],
  objection: ['models', 'queryset', 'api-keys'],
  papaparse: ['renderers'],
  pg: ['pagination'],
  'rate-limiter-flexible': ['throttling'],
  'raw-body': ['parsers'],
  'secure-json-parse': ['parsers'],
  'swagger-ui-dist': ['plugins'],
  'temporal-polyfill': ['fields'],
}

/** Whose types may be named anywhere: they are what an application hands us. */
const sharedTypes = ['koa', 'knex', 'objection']

interface Import {
  readonly from: string
  /** A path such as `lib/errors.ts`, or the name of a package. */
  readonly to: string
  readonly typeOnly: boolean
}

const root = fileURLToPath(new URL('..', import.meta.url))
const files = ['lib', 'plugins'].flatMap(sourceFiles)
const imports = files.flatMap((file) => readImports(file, readFileSync(join(root, file), 'utf8')))
const internal = imports.filter(({ to }) => to.endsWith('.ts'))
const external = imports.filter(({ to }) => !to.endsWith('.ts') && !to.startsWith('node:'))

describe('the layers', () => {
  it('hold every file', () => {
    expect(files.filter((file) => !isIndex(file) && layerOf(file) === -1)).toEqual([])
  })

  it('import downwards only, and no folder beside them', () => {
    const wrong = internal.filter(
      ({ from, to }) => !isIndex(from) && folderOf(from) !== folderOf(to) && layerOf(to) >= layerOf(from),
    )
    expect(wrong.map(describeImport)).toEqual([])
  })

  it('never import an index.ts', () => {
    expect(internal.filter(({ to }) => isIndex(to)).map(describeImport)).toEqual([])
  })

  it('import files that exist, with the ending .js', () => {
    expect(internal.filter(({ to }) => !files.includes(to)).map(describeImport)).toEqual([])
  })

  it('have no cycles, not even of types', () => {
    expect(findCycle(new Map(files.map((file) => [file, importedBy(file)])))).toEqual([])
  })
})

describe('third-party packages', () => {
  it('sit behind one place each', () => {
    const wrong = external.filter(
      ({ from, to, typeOnly }) =>
        !(typeOnly && sharedTypes.includes(to)) &&
        !(places[to] ?? []).some((place) => place === from || place === folderOf(from)),
    )
    expect(wrong.map(describeImport)).toEqual([])
  })
})

describe('functions that a request makes', () => {
  /** V8 allocates a function that is written right into a property among what stays until a full garbage collection. */
  const intoProperty = /\.[#\w]+ (?:\?\?)?= (?:async )?(?:function\b|\w+ =>|\([^()]*\)(?:: [\w<>[\]| ]+)? =>)/

  it('are named first where a property keeps them, so that a request goes with its garbage', () => {
    const ofRequests = files.filter((file) => !file.startsWith('lib/router/'))
    expect(ofRequests.filter((file) => intoProperty.test(readFileSync(join(root, file), 'utf8')))).toEqual([])
  })

  it.each(['res.writeHead = (...values: unknown[]) => x', 'a.b ??= async () => x', 'this.#c = function () {}'])(
    'are seen in: %s',
    (text) => expect(text).toMatch(intoProperty),
  )
})

describe('the public names', () => {
  const indexes = ['lib/index.ts', 'lib/testing/index.ts', 'plugins/index.ts'].filter((file) =>
    existsSync(join(root, file)),
  )

  it.each(indexes)('of %s are listed by hand', (file) => {
    expect(readFileSync(join(root, file), 'utf8')).not.toMatch(/^export \*/m)
  })

  it.each(indexes)('of %s are those of the snapshot', async (file) => {
    const names = publicNames(readFileSync(join(root, file), 'utf8'))
    await expect(`${names.join('\n')}\n`).toMatchFileSnapshot(
      `__snapshots__/${dirname(file).replace('/', '-')}-names.txt`,
    )
  })
})

describe('the reading of import statements', () => {
  it('finds all kinds, and none in comments', () => {
    const source = `
/** import { a } from './comment.js' */
// import { b } from './line-comment.js'
import koa, { type Context } from 'koa'
import type { Knex } from 'knex'
import {
  one,
  two,
} from '../errors.js'
import './effects.js'
import '@koa/router/types'
export type { Three } from './three.js'
export { four } from './four.js'
const text = 'import { five } from "./five.js"'
export type Six = import('./six.js').Six
export const seven = async () => await import('node:fs')
`
    expect(
      readImports('lib/fields/field.ts', source).map(({ to, typeOnly }) => (typeOnly ? `type ${to}` : to)),
    ).toEqual([
      'koa',
      'type knex',
      'lib/errors.ts',
      'lib/fields/effects.ts',
      '@koa/router',
      'type lib/fields/three.ts',
      'lib/fields/four.ts',
      'lib/fields/six.ts',
      'node:fs',
    ])
  })

  it('finds the cycle in a graph', () => {
    const graph = new Map([
      ['a', ['b', 'c']],
      ['b', ['d']],
      ['c', ['d', 'e']],
      ['d', []],
      ['e', ['f']],
      ['f', ['c']],
    ])
    expect(findCycle(graph)).toEqual(['c', 'e', 'f', 'c'])
    expect(findCycle(new Map([...graph, ['f', []]]))).toEqual([])
  })

  it('finds public names', () => {
    const source = `export { a, type B } from './a.js'\nexport type { C } from './c.js'\nexport {\n  d as e,\n} from './d.js'`
    expect(publicNames(source)).toEqual(['a', 'e', 'type B', 'type C'])
  })
})

function sourceFiles(folder: string): string[] {
  if (!existsSync(join(root, folder))) return []
  const names = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
  return names.filter((name) => name.endsWith('.ts')).map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
}

function readImports(file: string, source: string): Import[] {
  const code = source.replace(/\/\*.*?\*\//gs, '').replace(/^\s*\/\/.*$/gm, '')
  const statements = code.matchAll(
    /^(?:import|export)\s+(?<type>type\s)?[^'"=()]*?from\s*'(?<from>[^']+)'|^import\s+'(?<effect>[^']+)'|\bimport\(\s*'(?<dynamic>[^']+)'/gm,
  )
  return [...statements].map(({ groups = {} }) => {
    const specifier = groups['from'] ?? groups['effect'] ?? groups['dynamic'] ?? ''
    return { from: file, to: resolveImport(file, specifier), typeOnly: groups['type'] !== undefined }
  })
}

function resolveImport(file: string, specifier: string): string {
  if (specifier.startsWith('.')) return join(dirname(file), specifier).replace(/\.js$/, '.ts')
  if (specifier.startsWith('node:')) return specifier
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
}

/** The folder that a file's layer goes by. */
function folderOf(file: string): string {
  const [top = '', folder = '', ...rest] = file.split('/')
  if (top !== 'lib') return top
  return rest.length === 0 ? 'kernel' : folder
}

function layerOf(file: string): number {
  return layers.findIndex((layer) => layer.includes(folderOf(file)))
}

function isIndex(file: string): boolean {
  return file.endsWith('/index.ts')
}

function importedBy(file: string): string[] {
  return internal.filter(({ from }) => from === file).map(({ to }) => to)
}

/** The first cycle found, its first node repeated at the end; empty when there is none. */
function findCycle(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>()
  const visit = (node: string, path: readonly string[]): string[] => {
    if (path.includes(node)) return [...path.slice(path.indexOf(node)), node]
    if (done.has(node)) return []
    for (const next of graph.get(node) ?? []) {
      const cycle = visit(next, [...path, node])
      if (cycle.length > 0) return cycle
    }
    done.add(node)
    return []
  }
  for (const node of graph.keys()) {
    const cycle = visit(node, [])
    if (cycle.length > 0) return cycle
  }
  return []
}

function publicNames(source: string): string[] {
  const names = [...source.matchAll(/^export (type )?\{([^}]*)\}/gm)].flatMap(([, type = '', list = '']) =>
    list
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '')
      .map((item) => type + item.replace(/\w+ as /, '')),
  )
  return names.sort()
}

function describeImport({ from, to }: Import): string {
  return `${from} imports ${to}`
}
