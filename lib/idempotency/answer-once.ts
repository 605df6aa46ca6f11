/** Does a write once for each key, and gives its answer again (draft-ietf-httpapi-idempotency-key-header-07, section 2.6). */
import { createHash, type Hash } from 'node:crypto'
import { isAnyArrayBuffer } from 'node:util/types'
import type { Knex } from 'knex'
import { type Context, RequestSlot, splitTarget } from '../http/context.js'
import { mayFailUnsent } from '../http/response-body.js'
import { hasRefused } from '../http/route-transaction.js'
import { ApiError, BadRequest, ConfigurationError } from '../kernel/errors.js'
import { isContainer, Numeral, numeralAt } from '../kernel/json-numerals.js'
import { isOpaque, tagOf } from '../kernel/records.js'
import { frame, frameText } from '../kernel/signing.js'
import { configOf } from '../models/describe-model.js'
import { passedByValue } from '../parsers/parser.js'
import { UploadedFile } from '../parsers/uploads.js'
import type { LocalSettings } from '../postgres/local-settings.js'
import { applySettings, scopeOf } from '../postgres/scoped-knex.js'
import { runRaw } from '../postgres/type-parsers.js'
import type { CallersKey } from './rule.js'
import { bounded, type IdempotencyTable, idempotencyTable, keptAnswer, replay } from './table.js'

/** A request that is done once. */
export interface OnceRequest extends CallersKey {
  readonly ctx: Context
  readonly route: string
  readonly id: Buffer
  readonly fingerprint: Buffer
  readonly table: IdempotencyTable
  /** The pool of its transaction: the application's own, without role and settings. */
  readonly knex: Knex
  /** The role and settings that its statements run with, but for ours. */
  readonly settings: LocalSettings | undefined
}

/**
 * What is known of a request before its transaction begins.
 * @param knex what its statements run on
 * @param body what it brings, parsed
 * @throws {ConfigurationError} there is no table, or what is around this one does the request once already
 */
export async function onceRequest(
  ctx: Context,
  { key, caller, isScoped }: CallersKey,
  knex: Knex,
  body: unknown,
): Promise<OnceRequest> {
  const scope = scopeOf(knex)
  const base = scope?.base ?? knex
  const table = await idempotencyTable(base)
  const matched: unknown = ctx['_matchedRoute']
  const route = `${ctx.method} ${typeof matched === 'string' ? matched : ctx.path}`
  const id = createHash('sha256')
    .update(frame(caller, route, key))
    .digest()
  refuseTwice(ctx, configOf(base), frameText([caller, key]))
  // a user's id may be one of each tenant, which nobody but these tells apart
  const fingerprint = await fingerprintOf(ctx, body, isScoped ? [] : scope?.settings.values)
  return { ctx, key, caller, isScoped, route, id, fingerprint, table, knex: base, settings: scope?.settings }
}

const TAKEN = new RequestSlot<ReadonlyMap<object, string>>('the keys by which this request is done once, by database')

/** Who has the lock of a key would else be told for ever that the request is being processed: by itself. @throws {ConfigurationError} */
function refuseTwice(ctx: Context, database: object, key: string): void {
  const taken = TAKEN.get(ctx) ?? new Map<object, string>()
  if (taken.get(database) === key) {
    throw new ConfigurationError(
      'idempotent: idempotency() stands around a route that takes keys itself; leave one of them out',
    )
  }
  TAKEN.set(ctx, new Map(taken).set(database, key))
}

/**
 * Does the work and keeps its answer, in one transaction; or gives the answer that is kept. Of requests at the same time one
 * does the work, and the others are refused at once: none waits for it. What is refused is not kept, as its transaction is
 * rolled back.
 * @param perform does the work, and puts the whole answer into the context
 * @returns true where the kept answer was given
 * @throws {KeyRefused} 409 the same is being done, or its answer was not kept; 422 the key was used for something else
 */
export async function answerOnce(
  trx: Knex.Transaction,
  once: OnceRequest,
  perform: () => Promise<unknown>,
): Promise<boolean> {
  const { ctx, table, id, key, caller, route, fingerprint, settings } = once
  const { rows } = await runRaw<Locked>(trx, 'select pg_try_advisory_xact_lock(?::bigint) as locked', [lockOf(id)])
  if (!rows[0].locked) throw new KeyRefused(409, 'A request with this Idempotency-Key is being processed', RETRY)
  // a statement of its own, that sees what was committed before the lock was free
  const kept = await table.find(trx, id)
  if (kept) {
    if (!kept.fingerprint.equals(fingerprint)) {
      throw new KeyRefused(422, 'This Idempotency-Key was used for another request')
    }
    if (!kept.isKept) throw new KeyRefused(409, 'The request was carried out, and its answer was not kept')
    replay(ctx, kept)
    return true
  }
  if (settings) await applySettings(trx, settings)
  await perform()
  mayFailUnsent(ctx)
  if (hasRefused(ctx)) return false
  const role = settings && (await leaveRole(trx))
  const answer = await bounded(ctx, keptAnswer(ctx), { table, trx, caller })
  const isKept = await table.keep(trx, { id, key, caller, route, fingerprint, ...answer })
  // before PostgreSQL 18 triggers that wait for COMMIT run as whoever commits
  if (role !== undefined) await runRaw(trx, `select pg_catalog.set_config('role', ?, true)`, [role])
  if (!isKept) throw new KeyRefused(409, 'A request with this Idempotency-Key is being processed', RETRY)
  return false
}

interface Locked {
  readonly rows: readonly [{ readonly locked: boolean }]
}

/** Goes on as the login. @returns the role that the action's statements ran as, to its end */
async function leaveRole(trx: Knex.Transaction): Promise<string> {
  const { rows } = await runRaw<{ readonly rows: readonly [{ readonly role: string }] }>(
    trx,
    `with own as materialized (select pg_catalog.current_setting('role') as role)
     select role, pg_catalog.set_config('role', 'none', true) from own`,
    [],
  )
  return rows[0].role
}

const RETRY = { 'Retry-After': '1' }

/** PostgreSQL's locks are numbers of 64 bits: where two keys have one, one of two requests at the same time is sent again. */
function lockOf(id: Buffer): string {
  return id.readBigInt64BE().toString()
}

/** A request is refused for its key. */
export class KeyRefused extends ApiError {
  override readonly name: string = 'KeyRefused'

  constructor(status: 409 | 422, detail: string, headers: Record<string, string> = {}) {
    super(status, detail, { headers })
  }
}

/** Levels of a body that was read by code of the application's, which may have no limit of its own. */
const DEEPEST = 1_000

/** Names that no member of a parsed body has by chance. */
const FILE = '\u0000file'
const BYTES = '\u0000bytes'
const DIGITS = '\u0000digits'

/**
 * SHA-256 of path, query, API version, role and settings, and body. The body counts by what it says: members in any order, numbers as they were
 * written, forms without the boundary that is another each time. A file counts by its bytes and names; one that is not kept,
 * as no field asks for it, by its names and length.
 * @param settings what else must be the same
 * @throws {BadRequest} the body has more than 1,000 levels
 * @throws {ConfigurationError} it has a map, a form or the like, all of which would be the same
 */
export async function fingerprintOf(ctx: Context, body: unknown, settings: readonly string[] = []): Promise<Buffer> {
  if (passedByValue(body, { depth: DEEPEST, nodes: Number.POSITIVE_INFINITY })) {
    throw new BadRequest('Request body is nested too deeply')
  }
  const { path, search } = splitTarget(ctx.originalUrl)
  const version = String(ctx.state['version'] ?? '')
  const hash = createHash('sha256').update(frame(path, search, version, frame(...settings)))
  const files: UploadedFile[] = []
  hash.update(JSON.stringify(ordered(body, files)) ?? '')
  for (const file of files) await addFile(hash, file)
  return hash.digest()
}

async function addFile(hash: Hash, file: UploadedFile): Promise<void> {
  const { filename, mediaType, size } = file
  hash.update(frame(filename, mediaType, String(size)))
  if (!file.isKept) return
  for await (const piece of file.stream()) hash.update(piece as Buffer)
}

/** A copy with members in the order of their names. Files are numbered, and noted; what JSON has no form for has a name. */
function ordered(value: unknown, files: UploadedFile[]): unknown {
  if (!isContainer(value)) return hasNoNumeral(value) ? { [DIGITS]: String(value) } : value
  if (Array.isArray(value)) {
    return value.map((item: unknown, index) => textAt(value, index) ?? ordered(item, files))
  }
  if (value instanceof UploadedFile) return { [FILE]: files.push(value) }
  const bytes = isAnyArrayBuffer(value) ? new Uint8Array(value) : value
  if (ArrayBuffer.isView(bytes)) return { [BYTES]: createHash('sha256').update(bytes).digest('hex') }
  if (value instanceof Numeral) return { [DIGITS]: value.text }
  if (isOpaque(value)) {
    throw new ConfigurationError(
      `idempotent: nothing tells a ${tagOf(value)} in the body of a request from another; parse it into lists and plain objects before`,
    )
  }
  const names = Object.keys(value)
  // a date, or the like
  if (names.length === 0) return value
  const copy = Object.create(null) as Record<string, unknown>
  for (const name of names.sort()) copy[name] = textAt(value, name) ?? ordered(value[name], files)
  return copy
}

/** True for a number that parsers of other formats give, and JSON cannot write. */
function hasNoNumeral(value: unknown): boolean {
  return typeof value === 'bigint' || (typeof value === 'number' && !Number.isFinite(value))
}

/** A number that JavaScript would round, by its digits. */
function textAt(container: object, key: string | number): unknown {
  const text = numeralAt(container, key)
  return text === undefined ? undefined : { [DIGITS]: text }
}
