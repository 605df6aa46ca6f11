/** Tools of an API: which operations they are, and what agents are told of each. */

import { isSafeMethod, type Middleware } from '../http/context.js'
import { ConfigurationError } from '../kernel/errors.js'
import { groupBy } from '../kernel/maps.js'
import { ALL_METHODS } from '../kernel/methods.js'
import { didYouMean } from '../kernel/near-miss.js'
import { documentedPath } from '../openapi/documented-path.js'
import type { Operation as DescribedAction, OpenAPIDocument, Schema } from '../openapi/types.js'
import { sendsEvents } from '../renderers/event-stream-renderer.js'
import { FileRenderer } from '../renderers/file-renderer.js'
import { insertsRows, takesQuery } from '../views/actions.js'
import type { Endpoint, Operation } from '../views/endpoint.js'
import { policiesOf } from '../views/policies.js'
import type { SettledOptions } from './options.js'
import { asShown, asTaken, inputOf, outputOf, selfContained, type ToolInput } from './tool-schema.js'

/** What an argument of a tool becomes. */
export type ArgumentPlace =
  | { readonly in: 'path' | 'query' | 'header'; readonly name: string }
  | { readonly in: 'body' }

/** One operation of the API as agents call it. */
export interface CalledOperation extends ToolInput {
  /** The name in the OpenAPI document. */
  readonly id: string
  readonly endpoint: Endpoint
  readonly operation: Operation
  readonly described: DescribedAction
  /** The parameters of the query that name a version. */
  readonly versioning: readonly string[]
  /** What is answered; undefined where it is nothing, or not known. */
  readonly output: Schema | undefined
}

/** What agents see, and what they call by it. */
export interface Tool {
  readonly name: string
  /** By the value of the argument `action`; one alone, under the empty text, where the tool is one action. */
  readonly calls: ReadonlyMap<string, CalledOperation>
  /** The tool as `tools/list` has it, as JSON, of these operations alone. */
  define(calls: readonly CalledOperation[], options: { readonly objectsOnly: boolean }): string
}

/** What tools are made of: an `APIRouter`. */
export interface ToolAPI {
  /** Reads the database catalogue and checks the API, as the router's own `prepare()`. */
  prepare(): Promise<void>
  /** The middleware that answers the API's paths. */
  routes(): Middleware
  /** Takes the steps of what it is given once the catalogue was read, or now where it was, with the names of tools by those of operations, to be filled in. */
  whenPrepared(
    use: (endpoints: readonly Endpoint[], tools: Map<string, readonly string[]>) => Generator<undefined, void>,
  ): void
}

/** A name that all clients take. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/
/** The argument that chooses an action, where a tool is a whole resource. */
export const ACTION = 'action'
/** Where a tool is one action, its only operation. */
export const ONLY = ''
/** The path parameter that the option `apiVersion` decides. */
const VERSION = 'version'

/** What may be a tool: a method of a path. */
interface Candidate {
  readonly endpoint: Endpoint
  readonly operation: Operation
}

export interface ToolSource {
  readonly endpoints: readonly Endpoint[]
  readonly document: OpenAPIDocument
}

/** The tools that the options name, by their names. @throws {ConfigurationError} one names nothing, or what cannot be a tool */
export function toolsOf({ endpoints, document }: ToolSource, options: SettledOptions): ReadonlyMap<string, Tool> {
  const called = new Map<string, CalledOperation>()
  for (const entry of options.tools) {
    const { found, isNamed } = candidatesOf(entry, endpoints)
    for (const candidate of found) {
      const { operationId } = candidate.operation
      const call = called.get(operationId) ?? describe(candidate, document, options)
      if (call) called.set(operationId, call)
      else if (isNamed)
        throw wrong(
          `"${entry}" takes no JSON, as tools do: it asks for a file or answers with one, or its view has no JSONParser`,
        )
    }
  }
  const calls = [...called.values()]
  const tools =
    options.shape === 'action' ? calls.map((call) => actionTool(document, call)) : resourceTools(document, calls)
  for (const { name } of tools) {
    if (!NAME.test(name)) {
      throw wrong(
        `the tool "${name}" has a name that not all clients take; give its view set a shorter basename of letters, digits, _ and -`,
      )
    }
  }
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  const twice = tools.find((tool) => byName.get(tool.name) !== tool)
  if (twice) throw wrong(`two resources would be the tool "${twice.name}"; give one of them another basename`)
  return byName
}

/** What an entry of `tools` names. */
function candidatesOf(
  entry: string,
  endpoints: readonly Endpoint[],
): { found: readonly Candidate[]; isNamed: boolean } {
  const colon = entry.indexOf(':')
  const [resource, action] = colon === -1 ? [entry, undefined] : [entry.slice(0, colon), entry.slice(colon + 1)]
  const own = endpoints.filter((endpoint) => endpoint.kind !== 'root' && endpoint.resource === resource)
  if (own.length === 0) {
    const known = [...new Set(endpoints.flatMap((one) => (one.kind === 'root' ? [] : one.resource)))]
    throw wrong(
      `"${entry}" names no resource${didYouMean(resource, known) || `; there are ${known.join(', ') || 'none'}`}`,
    )
  }
  const all = own.flatMap((endpoint) =>
    [...endpoint.operations.values()]
      // a list by QUERY is the list that is one already
      .filter(({ method, action: name }) => !(method === 'QUERY' && takesQuery(name) && endpoint.operations.has('GET')))
      .map((operation): Candidate => ({ endpoint, operation })),
  )
  if (action === undefined)
    return { found: all.filter(({ operation }) => isSafeMethod(operation.method)), isNamed: false }
  if (action === '*') return { found: all, isNamed: false }
  const found = all.filter(({ operation }) => operation.action === action)
  if (found.length > 0) return { found, isNamed: true }
  const known = [...new Set(all.map(({ operation }) => operation.action))]
  throw wrong(`"${entry}" names no action${didYouMean(action, known) || `; there are ${known.join(', ')}`}`)
}

/** Undefined for what takes a body that is no JSON, or answers with a file, or with an answer that stays open. */
function describe(
  { endpoint, operation }: Candidate,
  document: OpenAPIDocument,
  { apiVersion }: SettledOptions,
): CalledOperation | undefined {
  const described = document.paths[documentedPath(endpoint)]?.[operation.method.toLowerCase()]
  if (!described) throw wrong(`the document has no operation "${operation.operationId}"`)
  const policies = policiesOf(operation.view)
  if (policies.renderers.some((renderer) => renderer instanceof FileRenderer)) return undefined
  if (sendsEvents(policies.renderers)) return undefined
  const versioning = policies.versioning?.parameters().map(({ name }) => name) ?? []
  const fixed = new Set(apiVersion === undefined ? [] : [VERSION, ...versioning])
  const input = inputOf(document, described, { endpoint, fixed })
  if (!input) return undefined
  const output = outputOf(document, described)
  return { id: operation.operationId, endpoint, operation, described, ...input, versioning, output }
}

function actionTool(document: OpenAPIDocument, call: CalledOperation): Tool {
  const { described, properties, required, output, operation } = call
  const name = operation.operationId
  const definition = {
    name,
    title: described.summary,
    description: describeCall(call),
    inputSchema: selfContained(document, objectOf(properties, required), asTaken),
    annotations: hintsOf([call]),
  }
  const plain = JSON.stringify(definition)
  const whole = output
    ? JSON.stringify({ ...definition, outputSchema: selfContained(document, output, asShown) })
    : plain
  const ofObject = isObject(output) ? whole : plain
  return {
    name,
    calls: new Map([[ONLY, call]]),
    define: (_calls, { objectsOnly }) => (objectsOnly ? ofObject : whole),
  }
}

/** True of what the revisions before 2026-07-28 can describe. */
function isObject(output: Schema | undefined): boolean {
  return output?.['type'] === 'object'
}

function resourceTools(document: OpenAPIDocument, calls: readonly CalledOperation[]): readonly Tool[] {
  return [...groupBy(calls, ({ endpoint }) => endpoint.basename)].map(([basename, own]): Tool => {
    const name = basename.replaceAll('-', '_')
    const prefix = `${name}_`
    const named = own.map((call): [string, CalledOperation] => {
      const { id, properties } = call
      if (Object.hasOwn(properties, ACTION)) {
        throw wrong(
          `"${id}" takes an argument "${ACTION}", by which the tool of a whole resource is told what to do; take shape: 'action', or leave it out of tools`,
        )
      }
      return [id.includes(prefix) ? id.slice(id.indexOf(prefix) + prefix.length) : id, call]
    })
    const tag = document.tags.find((one) => one.name === basename)
    const define = (shown: readonly CalledOperation[]) => {
      const actions = named.filter(([, call]) => shown.includes(call))
      return JSON.stringify({
        name,
        description: [tag?.description ?? '', ...actions.map(([action, call]) => describeAction(action, call))]
          .filter((line) => line !== '')
          .join('\n'),
        inputSchema: selfContained(document, unionOf(actions), asTaken),
        annotations: hintsOf(shown),
      })
    }
    return { name, calls: new Map(named), define }
  })
}

function describeAction(action: string, { described, required, properties }: CalledOperation): string {
  const optional = Object.keys(properties).filter((name) => !required.includes(name))
  const needs = required.length > 0 ? ` Needs ${required.join(', ')}.` : ''
  const takes = optional.length > 0 ? ` Takes ${optional.join(', ')}.` : ''
  return `- ${action}: ${described.summary}.${needs}${takes}`
}

/** The arguments of all actions of a resource; what an action does not take it refuses. */
function unionOf(actions: readonly (readonly [string, CalledOperation])[]): Schema {
  const properties = new Map<string, Schema[]>()
  for (const [, call] of actions) {
    for (const [name, schema] of Object.entries(call.properties)) {
      const known = properties.get(name) ?? []
      if (!known.some((one) => JSON.stringify(one) === JSON.stringify(schema))) known.push(schema)
      properties.set(name, known)
    }
  }
  const union = [...properties].map(([name, schemas]): [string, Schema] => [
    name,
    schemas.length === 1 ? (schemas[0] as Schema) : { anyOf: schemas },
  ])
  const action = { type: 'string', enum: actions.map(([name]) => name), description: 'What to do.' }
  return objectOf({ [ACTION]: action, ...Object.fromEntries(union) }, [ACTION])
}

function objectOf(properties: Readonly<Record<string, Schema>>, required: readonly string[]): Schema {
  return { type: 'object', properties, ...(required.length > 0 && { required }), additionalProperties: false }
}

/** What an action does, in the words of the document and of the view: never of data. */
function describeCall({ described, endpoint, operation }: CalledOperation): string {
  const texts = [endpoint.view.description, operation.view.description].filter((text) => text !== '')
  return [`${described.summary}.`, ...new Set(texts)].join(' ')
}

const IDEMPOTENT: ReadonlySet<string> = new Set(ALL_METHODS.filter((one) => one.isIdempotent).map(({ name }) => name))

/** What a client may warn its user of. An action that adds an object takes nothing away; of the application's own, nobody knows. */
function hintsOf(calls: readonly CalledOperation[]): Readonly<Record<string, boolean>> {
  const every = (is: (method: string, action: string) => boolean) =>
    calls.every(({ operation }) => is(operation.method, operation.action))
  const readOnlyHint = every((method) => isSafeMethod(method))
  if (readOnlyHint) return { readOnlyHint, openWorldHint: false }
  return {
    readOnlyHint,
    destructiveHint: !every((method, action) => isSafeMethod(method) || insertsRows(action)),
    idempotentHint: every((method) => IDEMPOTENT.has(method)),
    openWorldHint: false,
  }
}

function wrong(problem: string): ConfigurationError {
  return new ConfigurationError(`mcp(): ${problem}`)
}
