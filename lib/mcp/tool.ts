/** A tool: what agents are told of it, and the operations of the API that it calls. */
import type { Middleware } from '../http/context.js'
import type { Operation as DescribedAction, Schema } from '../openapi/types.js'
import type { Endpoint, Operation } from '../views/endpoint.js'

/** What an argument of a tool becomes. */
export type ArgumentPlace =
  | { readonly in: 'path' | 'query' | 'header'; readonly name: string }
  | { readonly in: 'body' }

/** One operation of the API as agents call it. */
export interface CalledOperation {
  /** The name in the OpenAPI document. */
  readonly id: string
  readonly endpoint: Endpoint
  readonly operation: Operation
  readonly described: DescribedAction
  /** By the argument's name. */
  readonly places: ReadonlyMap<string, ArgumentPlace>
  readonly properties: Readonly<Record<string, Schema>>
  readonly required: readonly string[]
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
