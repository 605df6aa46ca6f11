/** Router files of `init`: one of the application, and of many tables one of each part. */
import { singularize } from '../../kernel/naming.js'
import { Names } from '../../models/relation-names.js'
import { importOf, list, sortImports, stringLiteral } from '../schema/source-text.js'
import { type SourceFile, sourceFile } from './header.js'
import type { Resource } from './resource.js'

const SHORT_CHAIN = 2
const WIDTH = 120
/** A longer chain of calls costs compilers more than it is worth: each call's type holds those of all before it. */
const LONGEST_CHAIN = 50

export interface ApiOptions {
  /** There is a `rules.ts`. */
  readonly hasRules: boolean
}

/** A call that registers a resource, and the name of the file with its view set. */
interface Call {
  readonly resource: Resource
  readonly text: string
}

export function apiFiles(resources: readonly Resource[], options: ApiOptions): readonly SourceFile[] {
  const calls = callsOf(resources)
  if (calls.length <= LONGEST_CHAIN)
    return [
      apiFile(
        calls.map(({ text }) => text),
        viewImports(calls, './views'),
        options,
      ),
    ]
  const parts = [...partsOf(calls)].sort(([one], [other]) => (one < other ? -1 : 1))
  const imports = parts.map(([key]): [string, string] => {
    const from = `./routes/of-${key}.js`
    return [from, importOf([partName(key)], from)]
  })
  const included = parts.map(([key]) => `.include(${partName(key)}())`)
  return [...parts.map(([key, own]) => partFile(key, own)), apiFile(included, imports, options)]
}

function callsOf(resources: readonly Resource[]): readonly Call[] {
  const basenames = new Names()
  return resources.map((resource) => {
    const { route, className, table } = resource.model
    // names of routes are letters, digits and hyphens, each once; to the document a hyphen is an underscore
    const own = singularize(table.tableName).replaceAll('-', '_')
    const free = route.replaceAll('-', '_')
    const basename = /^[a-z0-9_]+$/.test(own) ? basenames.claim(own, free) : basenames.claim(free)
    const given = basename === own ? [] : [stringLiteral(basename.replaceAll('_', '-'))]
    const values = [stringLiteral(route), `${className}ViewSet`, ...given]
    return { resource, text: list('.register', values, { open: '(', close: ')', indent: '    ' }) }
  })
}

function viewImports(calls: readonly Call[], folder: string): [string, string][] {
  return calls.map(({ resource: { model } }) => {
    const from = `${folder}/${model.fileName}.js`
    return [from, importOf([`${model.className}ViewSet`], from)]
  })
}

/** Calls by the letter that their routes begin with: `a`, and of a letter with many `a2`, `a3`. */
function partsOf(calls: readonly Call[]): ReadonlyMap<string, readonly Call[]> {
  const parts = new Map<string, Call[]>()
  const counts = new Map<string, number>()
  for (const call of calls) {
    const letter = call.resource.model.route.charAt(0)
    const count = counts.get(letter) ?? 0
    counts.set(letter, count + 1)
    const number = Math.floor(count / LONGEST_CHAIN) + 1
    const key = number === 1 ? letter : `${letter}${number}`
    parts.set(key, [...(parts.get(key) ?? []), call])
  }
  return parts
}

/** `a` → `routesOfA` */
function partName(key: string): string {
  return `routesOf${key.toUpperCase()}`
}

function partFile(key: string, calls: readonly Call[]): SourceFile {
  const body =
    `/** Routes that begin with \`${key.charAt(0)}\`. */\nexport function ${partName(key)}() {\n` +
    `${chainOf(
      '  return new APIRouter()',
      calls.map(({ text }) => text),
    )}\n}\n`
  return sourceFile(`routes/of-${key}.ts`, `${importsOf(viewImports(calls, '../views'))}\n${body}`)
}

function apiFile(calls: readonly string[], views: readonly [string, string][], { hasRules }: ApiOptions): SourceFile {
  const imports = hasRules ? [['./rules.js', importOf(['rules'], './rules.js')] as [string, string], ...views] : views
  const made = hasRules ? "{ prefix: '/api', rules }" : "{ prefix: '/api' }"
  const body =
    `/** The routes below \`/api\`. */\nexport function createApi() {\n` +
    `${chainOf(`  return new APIRouter(${made})`, calls)}\n}\n\n` +
    '/** What clients are made of: `createClient<Api>(url)`, from `koa-viewsets/client`. */\n' +
    'export type Api = ReturnType<typeof createApi>\n'
  return sourceFile('api.ts', `${importsOf(imports)}\n${body}`)
}

function importsOf(own: readonly [string, string][]): string {
  return sortImports(new Map([['koa-viewsets', importOf(['APIRouter'], 'koa-viewsets')], ...own]))
}

function chainOf(head: string, calls: readonly string[]): string {
  const line = `${head}${calls.join('')}`
  const isShort = calls.length < SHORT_CHAIN && line.length <= WIDTH
  return isShort ? line : `${head}${calls.map((call) => `\n    ${call}`).join('')}`
}
