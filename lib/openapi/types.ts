/** The parts of an OpenAPI document that we write (https://spec.openapis.org/oas/v3.1.1, and `query` of v3.2.0). */

/** JSON Schema 2020-12, or a reference to a component. */
export interface Schema {
  readonly [keyword: string]: unknown
}

/** Points to a component: `{ $ref: '#/components/schemas/Error' }`. */
export type Reference = { readonly $ref: string }

export interface InfoObject {
  readonly title: string
  readonly version: string
  readonly description: string
  readonly summary?: string
  readonly termsOfService?: string
  readonly contact?: Readonly<Record<string, string>>
  readonly license?: License
}

/** The licence of the API: a name, and its SPDX identifier or a URL. */
export interface License {
  readonly name: string
  readonly identifier?: string
  readonly url?: string
}

export interface Server {
  readonly url: string
  readonly description?: string
}

export interface Tag {
  readonly name: string
  readonly description: string
}

export interface Parameter extends Header {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly explode?: boolean
  readonly style?: string
}

export interface MediaType {
  readonly schema?: Schema
  readonly example?: unknown
  /** How properties of a form are written. */
  readonly encoding?: Readonly<Record<string, { readonly contentType: string }>>
}

export interface Header {
  readonly description?: string
  readonly required?: boolean
  readonly schema: Schema
}

export interface RequestBody {
  readonly required: boolean
  readonly content: Readonly<Record<string, MediaType>>
}

export interface Response {
  readonly description: string
  readonly headers?: Readonly<Record<string, Header | Reference>>
  readonly content?: Readonly<Record<string, MediaType>>
  /** Media types besides: texts that a client gets by `Accept`, or by the end of the path. */
  readonly 'x-other-types'?: readonly string[]
}

/** Names of security schemes; all of one entry are needed, and any entry will do. */
export type SecurityRequirement = Readonly<Record<string, readonly string[]>>

export interface Operation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description?: string
  readonly deprecated?: boolean
  readonly parameters?: readonly (Parameter | Reference)[]
  readonly requestBody?: RequestBody
  readonly responses: Readonly<Record<string, Response | Reference>>
  readonly security: readonly SecurityRequirement[]
}

/** The operations of a path, by method in lower case. */
export type PathItem = Readonly<Record<string, Operation>>

/** An OpenAPI document, as far as `getSchema()` writes one. */
export interface OpenAPIDocument {
  /** The version of OpenAPI. */
  readonly openapi: '3.1.0' | '3.2.0'
  /** Title, version and what else is said of the API as a whole. */
  readonly info: InfoObject
  /** Where the API is. */
  readonly servers: readonly Server[]
  /** The resources, by which operations are grouped. */
  readonly tags: readonly Tag[]
  /** The paths, each with its operations by method. */
  readonly paths: Readonly<Record<string, PathItem>>
  /** What endpoints of webhooks are sent, by event. */
  readonly webhooks?: Readonly<Record<string, PathItem>>
  /** What several operations have in common. */
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly responses: Readonly<Record<string, Response>>
    readonly parameters: Readonly<Record<string, Parameter>>
    readonly headers: Readonly<Record<string, Header>>
    readonly securitySchemes: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  }
}
