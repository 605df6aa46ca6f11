/** The file of the router. */
import { singularize } from '../../kernel/naming.js'
import { importOf, list, literal, sortImports } from '../schema/source-text.js'
import { type SourceFile, sourceFile } from './header.js'
import type { Resource } from './resource.js'

const SHORT_CHAIN = 2
const WIDTH = 120

export function apiFile(resources: readonly Resource[]): SourceFile {
  const views = resources.map(({ model }): [string, string] => {
    const from = `./views/${model.fileName}.js`
    return [from, importOf([`${model.className}ViewSet`], from)]
  })
  const imports = sortImports(new Map([['koa-viewsets', importOf(['APIRouter'], 'koa-viewsets')], ...views]))
  const basenames = new Set<string>()
  const calls = resources.map(({ model: { route, className, table } }) => {
    // names of routes are letters, digits and hyphens, each once
    const own = singularize(table.tableName)
    const isPlain = /^[a-z0-9_-]+$/.test(own) && !basenames.has(own)
    basenames.add(isPlain ? own : route)
    const values = [literal(route), `${className}ViewSet`, ...(isPlain ? [] : [literal(route)])]
    return list('.register', values, { open: '(', close: ')', indent: '    ' })
  })
  const head = "  return new APIRouter({ prefix: '/api' })"
  const line = `${head}${calls.join('')}`
  const isShort = calls.length < SHORT_CHAIN && line.length <= WIDTH
  const chain = isShort ? line : `${head}${calls.map((call) => `\n    ${call}`).join('')}`
  const body =
    `/** The routes below \`/api\`. */\nexport function createApi() {\n${chain}\n}\n\n` +
    '/** What clients are made of: `createClient<Api>(url)`, from `koa-viewsets/client`. */\n' +
    'export type Api = ReturnType<typeof createApi>\n'
  return sourceFile('api.ts', `${imports}\n${body}`)
}
