/** Koa 2 beside Koa 3, under another name. */
declare module 'koa2' {
  export { default } from 'koa'
}

declare module 'koa-qs' {
  import type Koa from 'koa'
  /** Gives the app another reader of queries. */
  export default function koaQs(app: Koa, mode: 'extended' | 'strict' | 'first', options?: object): Koa
}

declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http'
  /** A certified OpenID Connect provider. */
  export default class Provider {
    constructor(issuer: string, configuration: object)
    callback(): RequestListener
  }
}

declare module '@20minutes/s3rver' {
  interface Options {
    readonly address: string
    readonly port: number
    readonly silent: boolean
    /** Where objects are kept. */
    readonly directory: string
    readonly configureBuckets: readonly { readonly name: string; readonly configs: readonly string[] }[]
  }
  /** An object store that speaks the protocol of S3. */
  export default class S3rver {
    constructor(options: Options)
    run(): Promise<{ readonly port: number }>
    close(): Promise<void>
  }
}

declare module 'bcrypt' {
  export function compare(text: string, hash: string): Promise<boolean>
  export function hash(text: string, rounds: number): Promise<string>
}

declare module 'objection-unique' {
  import type { Plugin } from 'objection'
  /** Asks before each write whether another row has the values. */
  export default function unique(options: { fields: (string | string[])[]; identifiers?: string[] }): Plugin
}

declare module 'objection-soft-delete' {
  import type { Plugin } from 'objection'
  /** Gives the model's queries a `delete()` that marks, and `whereNotDeleted()`. */
  export default function softDelete(options?: {
    columnName?: string
    deletedValue?: unknown
    notDeletedValue?: unknown
  }): Plugin
}

declare module '@koa/cors' {
  import type Koa from 'koa'
  export default function cors(options?: {
    origin?: string
    credentials?: boolean
    allowMethods?: string[]
    exposeHeaders?: string[]
  }): Koa.Middleware
}

declare module 'koa-passport' {
  import type Koa from 'koa'

  const passport: {
    use(strategy: object): void
    initialize(): Koa.Middleware
    authenticate(strategy: string, options: { session?: boolean; failWithError?: boolean }): Koa.Middleware
  }
  export default passport
}

declare module 'koa-pino-logger' {
  import type Koa from 'koa'
  export default function logger(options: { redact: string[] }, stream: { write(line: string): void }): Koa.Middleware
}

declare module 'koa-ratelimit' {
  import type Koa from 'koa'
  export default function ratelimit(options: {
    driver: 'memory'
    db: Map<string, unknown>
    max: number
    duration: number
    throw?: boolean
    disableHeader?: boolean
  }): Koa.Middleware
}

declare module 'passport-http-bearer' {
  export class Strategy {
    constructor(verify: (token: string, done: (error: unknown, user: object | false) => void) => void)
  }
}

declare module 'koa-router-8'

declare module 'koa-router-10'

declare module 'koa-router-12'

declare module 'koa-router-13'

declare module 'koa-router-14'

declare module 'pg-copy-streams' {
  import type { Readable } from 'node:stream'
  import type { Submittable } from 'pg'
  /** A stream of `COPY … TO STDOUT`. */
  export function to(sql: string): Readable & Submittable
}
