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
