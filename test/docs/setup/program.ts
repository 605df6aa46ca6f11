/** What pages of the book take for granted that are programs: a database, an app, and callers with their tokens. */
import createKnex, { type Knex } from 'knex'
import Koa from 'koa'
import { BasePermission, type Context, TokenAuthentication } from 'koa-viewsets'
import { Model, type QueryContext, raw } from 'objection'
import { expect } from 'vitest'
import { z } from 'zod'

export { expect, type Knex, Koa, Model, type QueryContext, raw, z }

export const knex = createKnex({ client: 'pg', connection: { connectionString: process.env['DATABASE_URL'] ?? '' } })
Model.knex(knex)

export const app = new Koa()

interface Caller {
  readonly id: number
  readonly name: string
  readonly tenant_id: number
  readonly is_staff: boolean
}

const CALLERS: Readonly<Record<string, Caller>> = {
  'ada-token': { id: 1, name: 'Ada', tenant_id: 1, is_staff: false },
  'ben-token': { id: 2, name: 'Ben', tenant_id: 2, is_staff: false },
  'cleo-token': { id: 3, name: 'Cleo', tenant_id: 1, is_staff: true },
}

export class TokenAuth extends TokenAuthentication {
  override getUserForToken(token: string) {
    return CALLERS[token] ?? null
  }
}

/** Tells a worker that there is something to do. */
export function wakeWorker(): void {}

type Work = () => Promise<void>

/** The tests of a page, and what comes after them. */
export const tests: [name: string, work: Work][] = []
export const endings: Work[] = []

export function test(name: string, work: Work): void {
  tests.push([name, work])
}

export function afterAll(work: Work): void {
  endings.push(work)
}

/** Who sees an object may read it. */
export class IsReading extends BasePermission {
  override hasPermission({ method }: Context) {
    return ['GET', 'HEAD', 'OPTIONS'].includes(method)
  }
}
