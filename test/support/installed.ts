/** What the installed versions of packages can: the tests run on the lowest that are supported, too (`npm run test:floors`). */
import * as koaBodies from 'koa-body'
import { readProjectFile } from './program.js'

type KoaBody = typeof koaBodies.koaBody

const { koaBody: named, default: whole } = koaBodies as unknown as { koaBody?: KoaBody; default: KoaBody }

function isAtLeast(name: string, least: number): boolean {
  const { version } = JSON.parse(readProjectFile(`node_modules/${name}/package.json`)) as { version: string }
  return Number.parseFloat(version) >= least
}

/** Before version 6 the module itself is the function. */
export const koaBody = named ?? whole

/** Its parsers tell what is wrong with a body by codes, and refuse keys that reach for a prototype. */
export const saysWhatIsWrong = isAtLeast('koa-body', 6)

/** Koa sends web streams, blobs and responses. */
export const sendsWebBodies = isAtLeast('koa', 3)

/** Koa ends its answers to HEAD over HTTP/2. */
export const endsHeadOfHttp2 = isAtLeast('koa', 3)

/** koa-body leaves `ctx.request.rawBody`, as its `includeUnparsed` asks for. */
export const leavesText = isAtLeast('koa-body', 7)

/** knex takes a pool of the application's own, as `connectionPool`. */
export const takesPool = isAtLeast('knex', 3.3)

/** pg keeps the names of statements that are under way. */
export const namesSubmitted = readProjectFile('node_modules/pg/lib/connection.js').includes('submittedNamedStatements')
