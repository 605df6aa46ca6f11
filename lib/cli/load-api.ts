/** Loads the router that a command is about. */

import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Explanation } from '../explain/explanation.js'
import { messageOf } from '../kernel/quote.js'
import { baseModelOf } from '../models/objection.js'
import type { DescribedAPI } from '../openapi/docs-site.js'
import type { PrintedPolicies } from '../rules/policies.js'
import type { GenericAPIView } from '../views/generic-api-view.js'
import { type Command, UsageError } from './command.js'
import { openDatabase } from './schema/open-database.js'

/** A router, as commands use it. */
export interface LoadedAPI extends DescribedAPI {
  /** The views of its routes, of which some have models. */
  readonly endpoints: readonly { readonly view: Partial<typeof GenericAPIView> }[]
  explain(name?: string): Promise<readonly Explanation[]>
  policies(role?: string): Promise<PrintedPolicies>
}

/** What a module may export the router as, when nobody says. */
const NAMES = ['default', 'api', 'router', 'createApi']

/** How a command names its module. */
export const MODULE_HELP: Command['help'] = [
  ['<module>', 'the file of a module that exports the router, or a function that returns it'],
  ['--export <name>', `the name of the export (else the first API or function of ${NAMES.join(', ')})`],
]

/** @throws UsageError not one module was named */
export async function loadApi([module, ...others]: readonly string[], name: string | undefined): Promise<LoadedAPI> {
  if (module === undefined || others.length > 0) throw new UsageError('name one module')

  const exports = await importModule(module)
  const names = name === undefined ? NAMES : [name]
  const [found, exported] = findExport(exports, names) ?? []
  const api: unknown = typeof exported === 'function' ? await (exported as () => unknown)() : exported
  if (isApi(api)) return api
  const there = Object.keys(exports).join(', ') || 'nothing'
  const fault =
    found === undefined
      ? `${module} exports no ${names.join(', ')}`
      : `${module}: its export "${found}" is no APIRouter, and no function that returns one`
  throw new Error(`${fault}; it exports ${there}: name one by --export`)
}

async function importModule(module: string): Promise<Record<string, unknown>> {
  try {
    return (await import(pathToFileURL(resolve(module)).href)) as Record<string, unknown>
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== 'ERR_UNKNOWN_FILE_EXTENSION') throw error
    throw new Error(
      `${(error as Error).message}\nName the compiled file, or have Node read TypeScript: NODE_OPTIONS='--import tsx'`,
      { cause: error },
    )
  }
}

/** The first export that is an API, else the first function, else the first there is. */
function findExport(exports: Record<string, unknown>, names: readonly string[]): [string, unknown] | undefined {
  // a CommonJS module has its exports in `default`
  const inner = (exports['default'] ?? {}) as Record<string, unknown>
  const all = [exports, inner]
    .flatMap((from) => names.map((name): [string, unknown] => [name, from[name]]))
    .filter(([, value]) => value !== undefined)
  return all.find(([, value]) => isApi(value)) ?? all.find(([, value]) => typeof value === 'function') ?? all[0]
}

function isApi(value: unknown): value is LoadedAPI {
  const { prepare, getSchema } = (value ?? {}) as Partial<LoadedAPI>
  return typeof prepare === 'function' && typeof getSchema === 'function'
}

/** @throws Error the catalogue cannot be read, or the API is not in order */
export async function prepare(api: LoadedAPI, advice = ''): Promise<void> {
  try {
    await bindModels(api)
    await api.prepare()
  } catch (error) {
    const missing = process.env['DATABASE_URL']
      ? ''
      : '\nDATABASE_URL is not set: it names the database of models that the module binds to none'
    throw new Error(`${messageOf(error)}\nThe types of columns are read from the database${advice}${missing}`, {
      cause: error,
    })
  }
}

/** Models that the module has bound to no database are those of DATABASE_URL, where that is set. */
async function bindModels({ endpoints }: LoadedAPI): Promise<void> {
  if (!process.env['DATABASE_URL']) return
  const models = endpoints.flatMap(({ view }) => ((view.model ?? view.queryset) ? (view.modelClass?.() ?? []) : []))
  const bases = new Set(models.filter((model) => (model.knex() as unknown) === undefined).map(baseModelOf))
  if (bases.size === 0) return
  const database = await openDatabase()
  for (const base of bases) base.knex(database)
}
