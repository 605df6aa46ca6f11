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
