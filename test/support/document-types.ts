/**
 * Compares what a typed client says of each operation of an API with what openapi-typescript makes of its document: a
 * program that compiles where the two are mutually assignable.
 */
import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import type { APIRouter } from 'koa-viewsets'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
const { resolve } = createRequire(join(root, 'examples/client/package.json'))

/** True where the packages of `examples/client` are installed. */
export function hasGenerator(): boolean {
  try {
    return resolve('openapi-typescript') !== ''
  } catch {
    return false
  }
}

type Endpoint = APIRouter['endpoints'][number]

interface Compared {
  readonly api: APIRouter
  /** The module that exports the routers' type. */
  readonly module: string
  /** The name of that type. */
  readonly type: string
  /** Where the program is written. */
  readonly folder: string
}

/** @returns the names of what differs, and of all that was compared; both sorted */
export async function compareTypes({
  api,
  module,
  type,
  folder,
}: Compared): Promise<{ wrong: string[]; all: string[] }> {
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'schema.d.ts'), await documentTypes(api))
  const checks = api.endpoints.flatMap((endpoint) => (endpoint.kind === 'root' ? [] : checksOf(endpoint, api.prefix)))
  const from = relative(folder, join(root, module)).replace(/\.ts$/, '.js')
  const lines = [
    `import type { Client, KeyOf, ListQuery } from 'koa-viewsets/client'`,
    `import type { ${type} as Api } from '${from}'`,
    `import type { Body, ErrorBody, Errors, ExpandName, Expect, Extends, Known, Mutual, Ok, Path, Plain, Query, Routes, Same, SameExpanded, ShownQuery } from './compare.js'`,
    `import type { operations } from './schema.js'`,
    'declare const client: Client<Api>',
    ...checks.map(([name, code]) => `export async function ${name}() { ${code} }`),
  ]
  await writeFile(join(folder, 'compare.ts'), COMPARE)
  await writeFile(join(folder, 'program.ts'), `${lines.join('\n')}\n`)
  await writeFile(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      extends: join(root, 'tsconfig.json'),
      compilerOptions: {
        lib: ['es2023', 'es2024.string', 'dom', 'dom.iterable'],
        typeRoots: [join(root, 'node_modules/@types')],
      },
      include: ['*.ts'],
      exclude: [],
    }),
  )
  const { stdout } = await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder], {
    cwd: folder,
  }).catch((error: { stdout: string }) => error)
  const wrong = stdout.split('\n').flatMap((line) => {
    const number = /^program\.ts\((\d+),/.exec(line)?.[1]
    const name = number && /function (\w+)/.exec(lines[Number(number) - 1] ?? '')?.[1]
    return name ? [name] : line === '' || line.startsWith(' ') ? [] : [line]
  })
  return { wrong: [...new Set(wrong)].sort(), all: checks.map(([name]) => name).sort() }
}

/** What openapi-typescript makes of the document. It takes files for texts unless it is told. */
async function documentTypes(api: APIRouter): Promise<string> {
  const { default: generate, astToString } = await import(pathToFileURL(resolve('openapi-typescript')).href)
  const { default: ts } = await import(pathToFileURL(resolve('typescript')).href)
  const file = ts.factory.createTypeReferenceNode(ts.factory.createIdentifier('Blob'))
  const nodes: unknown = await generate(JSON.stringify(api.getSchema()), {
    transform: (schema: { contentMediaType?: string }) => (schema.contentMediaType ? file : undefined),
  })
  return astToString(nodes)
}

/** The checks of an endpoint's operations: names, and the code that compiles where both say the same. */
function checksOf(endpoint: Endpoint, prefix: string): readonly Check[] {
  const { kind, path, parents, detail } = endpoint
  const segments = path.slice(prefix.length + 1).split('/')
  // the collection of each object on the path, with the parameter of that object
  const names = segments.slice(0, 2 * parents.length + 1).filter((_, index) => index % 2 === 0)
  const parameters = segments.flatMap((segment) => /^\{(\w+)\}$/.exec(segment)?.[1] ?? [])
  const views = names.map((_, index) => `Routes<Api>['${names.slice(0, index + 1).join('/{}/')}']`)
  const view = views.at(-1) as string
  const resource = names.map((name, index) => `${index ? '.at(null!)' : ''}['${name}']`).join('')
  const rest = segments.slice(2 * parents.length + (detail ? 2 : 1)).join('/')
  return [...endpoint.operations.values()].flatMap(
    ({ operationId, action, method, inputSerializer, view: { rendererClasses } }) => {
      const operation = `operations['${operationId}']`
      const called = kind === 'action' ? (detail ? 'callOn' : 'call') : action
      const target = kind === 'action' ? `'${method}', '${rest}', ` : ''
      const given = `${detail ? 'null!, ' : ''}${target}${WITH_DATA.has(action) || inputSerializer ? 'null!' : ''}`
      const check = (name: string, statement: string, call = given): Check => [
        `${operationId}_${name}`,
        `const method = client${resource}.${called}; const result = await method(${call}); type _ = Expect<${statement}>; return result`,
      ]
      const answer = `Body<${operation}['responses']>`
      // clients read a stream event by event
      const isStream = rendererClasses.some((one) => (one as { name?: string }).name === 'EventStreamRenderer')
      if (isStream) return [[`${operationId}_answer`, `type _ = Expect<Mutual<string, ${answer}>>`] as const]
      const checks = [check('answer', `Mutual<Plain<Ok<typeof result>>, Plain<${answer}>>`)]
      if (action === 'list' || action === 'retrieve') {
        const expanding = `${detail ? 'null!, ' : ''}{ expand: null! as ExpandName<${view}> }`
        checks.push(check('expanded', `SameExpanded<Ok<typeof result>, ${answer}, ExpandName<${view}>>`, expanding))
      }
      parameters.slice(0, views.length).forEach((parameter, index) => {
        checks.push(check(`key_${parameter}`, `Same<KeyOf<${views[index]}>, Path<${operation}, '${parameter}'>>`))
      })
      if (kind !== 'action' && !NO_QUERY.has(action)) {
        const own = action === 'list' ? `ShownQuery<${view}> & ListQuery<${view}>` : `ShownQuery<${view}>`
        // a parameter that is named as one of the path is that one alone
        const others = `Omit<${own}, ${parameters.map((name) => `'${name}'`).join(' | ') || 'never'}>`
        checks.push(check('query', `Same<Known<${others}>, Known<Query<${operation}>>>`))
      }
      if (inputSerializer || WITH_DATA.has(action)) {
        const own = kind === 'action' ? `method<'${rest}', '${method}'>` : 'method'
        const position = (detail ? 1 : 0) + (kind === 'action' ? 2 : 0)
        checks.push(check('body', `Same<Parameters<typeof ${own}>[${position}], Body<[${operation}['requestBody']]>>`))
        // JSON Schema cannot tell the texts of `non_field_errors` from those of other names: a list is compared one way
        const compare = kind === 'bulk' ? 'Extends' : 'Mutual'
        checks.push(check('errors', `${compare}<Errors<typeof result>, ErrorBody<${operation}>>`))
      }
      return checks
    },
  )
}

type Check = readonly [name: string, code: string]

const WITH_DATA = new Set(['create', 'update', 'partialUpdate', 'bulkCreate', 'bulkUpdate', 'bulkDestroy'])
const NO_QUERY = new Set(['destroy', 'bulkDestroy'])

const COMPARE = `
import type { AskedExpansion, ExpandName, FieldName } from '${join(root, 'lib/client/view-types.js')}'
export type { ExpandName }
import type { RoutesOf } from '${join(root, 'lib/router/routed.js')}'
type Intersection<U> = (U extends unknown ? (value: U) => void : never) extends (value: infer I) => void ? I : never
export type Routes<Api> = Intersection<RoutesOf<Api>>
export type Expect<T extends true> = T
export type Ok<R> = Extract<R, { ok: true }> extends { data: infer Data } ? Data : never

/** The body of an answer that succeeds, or of a request: as JSON, as a form where that alone takes files. */
export type Body<Bodies> = Bodies extends [infer One]
  ? OfContent<One>
  : { [S in keyof Bodies & (200 | 201)]: OfContent<Bodies[S]> }[keyof Bodies & (200 | 201)] extends infer Shown
    ? [Shown] extends [never] ? undefined : Shown
    : never
type OfContent<T> = T extends { content: { 'application/json': infer J; 'multipart/form-data': infer M } }
  ? { [K in keyof M]: M[K] | (K extends keyof J ? J[K] : never) }
  : T extends { content: { 'application/json': infer B } }
  ? B
  : T extends { content: { 'multipart/form-data': infer B } } ? B
  : T extends { content: { 'text/event-stream': infer B } } ? B : never
export type Errors<R> = Extract<R, { ok: false }> extends { errors: infer E } ? E : never
export type Query<O> = O extends { parameters: { query?: infer Q } } ? NonNullable<Q> : never
export type Path<O, P extends string> = O extends { parameters: { path: { [N in P]: infer T } } } ? T : never
export type ErrorBody<O> = O extends { responses: { 400: { content: { 'application/json': { errors?: infer E } } } } }
  ? NonNullable<E> : never

/** \`fields\` and \`expand\`, where there is something to ask for. */
export type ShownQuery<View> = { fields?: FieldName<View>[] } &
  ([ExpandName<View>] extends [never] ? {} : { expand?: AskedExpansion<View>[] })

/** Without the lookups that depend on what only the database knows of a column: a date may be a string to TypeScript. */
export type Known<Q> = {
  [N in keyof Q as N extends \`\${string}__\${'year' | 'month' | 'day' | 'overlap' | 'contained_by'}\` ? never : N]: Q[N]
}

/** Mutually assignable, with all properties there and without them. */
export type Same<A, B> = Mutual<Plain<A>, Plain<B>> extends true ? Mutual<Full<A>, Full<B>> : false
/** With everything that can be asked for. */
export type SameExpanded<A, B, E> = [E] extends [never] ? Mutual<Plain<A>, Plain<B>> : Mutual<Full<A>, Full<B>>
export type Extends<A, B> = [A] extends [B] ? true : false
export type Mutual<A, B> = [A] extends [B] ? Extends<B, A> : false
export type Plain<T> = Mapped<T, { -readonly [K in keyof T]: Plain<T[K]> }>
type Full<T> = Mapped<T, { -readonly [K in keyof T]-?: Full<Exclude<T[K], undefined>> }>
type Mapped<T, M> = T extends Blob | string | number | boolean | null | undefined ? T : unknown extends T ? T : M
`
