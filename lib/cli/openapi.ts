/** `koa-viewsets openapi` (spec section 4.10): the document of an API, for typed clients and other tools. */
import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { DescribedAPI } from '../openapi/docs-site.js'
import type { SchemaOptions } from '../openapi/document.js'
import { type Command, UsageError, type Values } from './command.js'

/** What a module may export the router as, when nobody says. */
const NAMES = ['default', 'api', 'router', 'createApi']

export const openapi: Command = {
  summary: 'write the OpenAPI document of a router',
  positionals: '<module>',
  help: [
    ['<module>', 'the file of a module that exports the router, or a function that returns it'],
    ['--export <name>', `the name of the export (else the first API or function of ${NAMES.join(', ')})`],
    ['--output <file>', 'the file to write (else stdout)'],
    ['--title <text>', 'the title of the API'],
    ['--api-version <text>', 'the version of the API, in the head of the document'],
    ['--description <text>', 'what the API is for'],
    ['--license <identifier>', 'its licence by SPDX, such as MIT'],
    ['--unprepared', 'ask no database: describe what the models themselves declare'],
  ],
  options: {
    export: { type: 'string' },
    output: { type: 'string' },
    title: { type: 'string' },
    'api-version': { type: 'string' },
    description: { type: 'string' },
    license: { type: 'string' },
    unprepared: { type: 'boolean' },
  },
  async run(values, { stdout, stderr }, [module, ...others]) {
    if (module === undefined || others.length > 0) throw new UsageError('name one module')
    const api = await loadApi(module, text(values, 'export'))
    if (values['unprepared'] !== true) await prepare(api)
    const document = `${JSON.stringify(api.getSchema(infoOf(values)), null, 2)}\n`
    const output = text(values, 'output')
    if (output === undefined) {
      stdout.write(document)
      return
    }
    await writeFile(output, document)
    stderr.write(`${output} written\n`)
  },
}

async function loadApi(module: string, name: string | undefined): Promise<DescribedAPI> {
  const exports = (await import(pathToFileURL(resolve(module)).href)) as Record<string, unknown>
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

/** The first export that is an API, else the first function, else the first there is. */
function findExport(exports: Record<string, unknown>, names: readonly string[]): [string, unknown] | undefined {
  // a CommonJS module has its exports in `default`
  const inner = (exports['default'] ?? {}) as Record<string, unknown>
  const all = [exports, inner]
    .flatMap((from) => names.map((name): [string, unknown] => [name, from[name]]))
    .filter(([, value]) => value !== undefined)
  return all.find(([, value]) => isApi(value)) ?? all.find(([, value]) => typeof value === 'function') ?? all[0]
}

function isApi(value: unknown): value is DescribedAPI {
  const { prepare, getSchema } = (value ?? {}) as Partial<DescribedAPI>
  return typeof prepare === 'function' && typeof getSchema === 'function'
}

async function prepare(api: DescribedAPI): Promise<void> {
  try {
    await api.prepare()
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`${reason}\nThe types of columns are read from the database; --unprepared does without`, {
      cause: error,
    })
  }
}

function infoOf(values: Values): SchemaOptions {
  const title = text(values, 'title')
  const version = text(values, 'api-version')
  const description = text(values, 'description')
  const license = text(values, 'license')
  return {
    ...(title !== undefined && { title }),
    ...(version !== undefined && { version }),
    ...(description !== undefined && { description }),
    ...(license !== undefined && { license: { name: license, identifier: license } }),
  }
}

function text(values: Values, name: string): string | undefined {
  const value = values[name] as string | undefined
  if (value === '') throw new UsageError(`--${name} is empty`)
  return value
}
