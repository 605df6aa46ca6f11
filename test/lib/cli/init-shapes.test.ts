/** What `koa-viewsets init` makes of ten schemas in the shape of public ones: it compiles, starts, and changes nothing that is sent back. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Knex } from 'knex'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../../support/database.js'
import { readFiles } from '../../support/files.js'
import { encyclopedia } from '../../support/many-tables.js'
import { toUrl } from '../../support/program.js'
import {
  compile,
  createAppFolder,
  letIn,
  type Printed,
  type RunningApp,
  runFor,
  start,
  uncommentRules,
} from '../../support/written-app.js'
import { size } from '../../trust/support/size.js'

const SCHEMAS = 'social,forum,voip,monitor,identity,tracker,shop,maps,chat,music'
const HEADERS = { authorization: 'Token 1', 'content-type': 'application/json' }

let database: TestDatabase
let folder: string
let printed: Printed
let app: RunningApp
let files: Record<string, string>
beforeAll(async () => {
  database = await createDatabase({
    schema: `${readFileSync(new URL('schemas/public-shapes.sql', import.meta.url), 'utf8')}; ${encyclopedia(size(3, 14))}`,
  })
  await fill(database.knex)
  folder = createAppFolder()
  printed = await runFor(toUrl(database.direct), 'init', '--out', join(folder, 'src'), '--schema', SCHEMAS)
  files = readFiles(join(folder, 'src'))
}, 60_000)
afterAll(async () => {
  await app?.program.stop()
  await database.drop()
})

it('is written, with the foreign keys of all schemas', () => {
  expect(printed.code).toBe(0)
  expect(printed.stderr).not.toContain('is no relation')
  expect(Object.keys(files).filter((file) => file.startsWith('views/')).length).toBeGreaterThan(size(90, 300))
})

it('is closed where it should be, and nowhere else', () => {
  const hidden = [...printed.stderr.matchAll(/the column "(\w+)" of "(\w+)" sounds like a secret/g)].map(
    ([, c, t]) => `${t}.${c}`,
  )
  expect(hidden.sort()).toMatchInlineSnapshot(`
    [
      "access_tokens.token",
      "accounts.private_key",
      "editor.ha1",
      "editor.password",
      "flow_state.auth_code",
      "flow_state.code_verifier",
      "forums.forum_password",
      "gift_cards.code",
      "hosts.tls_psk",
      "items.password",
      "items.privatekey",
      "mfa_factors.secret",
      "oauth_access_tokens.refresh_token",
      "oauth_access_tokens.token",
      "orders.token",
      "refresh_tokens.parent",
      "refresh_tokens.session_id",
      "refresh_tokens.token",
      "sessions.id",
      "sessions.session_id",
      "subscriber.ha1",
      "subscriber.ha1b",
      "subscriber.password",
      "token.token",
      "tokens.value",
      "users.authentication_token",
      "users.confirmation_token",
      "users.confirmation_token",
      "users.encrypted_password",
      "users.encrypted_password",
      "users.encrypted_password",
      "users.hashed_password",
      "users.otp_backup_codes",
      "users.otp_secret",
      "users.pass_crypt",
      "users.pass_salt",
      "users.passwd",
      "users.password_hash",
      "users.password_salt",
      "users.recovery_token",
      "users.reset_password_token",
      "users.reset_token",
      "users.salt",
      "users.spree_api_key",
      "users.twofa_totp_key",
      "users.user_actkey",
      "users.user_newpasswd",
      "users.user_password",
    ]
  `)
  const closed = [...printed.stderr.matchAll(/the column "(\w+)" of "(\w+)" says who may do more/g)].map(
    ([, c, t]) => `${t}.${c}`,
  )
  expect(closed.sort()).toMatchInlineSnapshot(`
    [
      "accounts.actor_type",
      "accounts.locked",
      "accounts.suspended_at",
      "accounts.trust_level",
      "editor.deleted",
      "editor.privs",
      "gift_cards.balance",
      "identities.provider",
      "identities.provider_id",
      "member_roles.role_id",
      "oauth_access_tokens.scopes",
      "relation_members.member_role",
      "relation_members.member_type",
      "roles.permissions",
      "user_roles.permissions",
      "users.account_id",
      "users.admin",
      "users.admin",
      "users.approved",
      "users.attempt_failed",
      "users.auth_uid",
      "users.banned_until",
      "users.confirmed_at",
      "users.deactivated",
      "users.disabled",
      "users.email_confirmed_at",
      "users.group_id",
      "users.is_guest",
      "users.is_sso_user",
      "users.is_super_admin",
      "users.otp_required_for_login",
      "users.raw_app_meta_data",
      "users.role",
      "users.role_id",
      "users.roleid",
      "users.shadow_banned",
      "users.status",
      "users.status",
      "users.store_credits",
      "users.twofa_scheme",
      "users.type",
      "users.user_permissions",
      "users.user_rank",
      "users.user_type",
      "users.user_type",
    ]
  `)
})

it('compiles, with its rules', { timeout: 400_000 }, async () => {
  uncommentRules(folder)
  expect(await compile(folder)).toBe('')
})

it('starts, and changes nothing that is sent back', { timeout: 120_000 }, async () => {
  letIn(folder)
  // as somebody leaves it who has not looked at the rules
  await runFor(toUrl(database.direct), 'init', '--out', join(folder, 'src'), '--schema', SCHEMAS, '--force')
  letIn(folder)
  app = await start(folder, toUrl(database.direct))
  const send = (method: string, path: string, body?: unknown) =>
    app.client.send({ method, path, headers: HEADERS, ...(body !== undefined && { body: JSON.stringify(body) }) })
  const lists = Object.values((await send('GET', '/api/')).json as Record<string, string>)
  const faults: unknown[] = []
  let sent = 0
  for (const list of lists) {
    const { status, json } = await send('GET', list)
    if (status !== 200 || json.results.length !== 1) faults.push([list, status, json])
    const path = await pathOf(list, json.results[0] as Record<string, unknown>)
    if (path === undefined) continue
    const before = await send('GET', path)
    if (before.status !== 200) faults.push([path, before.status])
    const put = await send('PUT', path, before.json)
    if (put.status === 405) continue
    sent++
    const after = await send('GET', path)
    if (put.status !== 200 || after.text !== before.text)
      faults.push([path, put.status, put.text, before.text, after.text])
  }
  expect(faults).toEqual([])
  expect(sent).toBeGreaterThan(size(70, 250))
})

/** The path of an object by the key that its model has in the files; undefined where it has none. */
async function pathOf(list: string, row: Record<string, unknown>): Promise<string | undefined> {
  const name = new RegExp(`\\.register\\('${list.slice('/api/'.length)}', (\\w+)ViewSet`)
  const view = Object.values(files)
    .map((text) => name.exec(text)?.[1])
    .find((found) => found !== undefined)
  const [, text = ''] =
    Object.entries(files).find(([, source]) => source.includes(`class ${view}ViewSet extends`)) ?? []
  if (text.includes('genericViewSet(')) return undefined
  const [, model = ''] =
    Object.entries(files).find(([, source]) => source.includes(`class ${view} extends Model`)) ?? []
  const key = /idColumn = (.*)$/m.exec(model)?.[1]?.match(/\w+/g) ?? ['id']
  return `${list}/${encodeURIComponent(key.map((column) => row[column]).join())}`
}

/** A row in each table, of values that fit together. */
async function fill(knex: Knex): Promise<void> {
  const { rows } = await knex.raw<{
    rows: { table: string; columns: { name: string; type: string; label: string | null }[] }[]
  }>(
    `
    select format('%I.%I', n.nspname, c.relname) as table,
      json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, null),
        'label', (select enumlabel from pg_enum e where e.enumtypid = a.atttypid order by enumsortorder limit 1))
        order by a.attnum) filter (where coalesce(pg_get_expr(d.adbin, d.adrelid), 'nextval') like 'nextval%') as columns
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where c.relkind = 'r' and n.nspname = any (?) group by 1`,
    [SCHEMAS.split(',')],
  )
  const columnOf = (name: string) => `"${name}"`
  let waiting = rows
  while (waiting.length > 0) {
    const refused: typeof rows = []
    for (const row of waiting) {
      const columns = row.columns ?? []
      const names = columns.map(({ name }) => columnOf(name)).join(', ')
      const values = columns.map(({ type, label }) => (label === null ? literalOf(type) : `'${label}'`)).join(', ')
      const sql =
        columns.length > 0
          ? `insert into ${row.table} (${names}) values (${values})`
          : `insert into ${row.table} default values`
      await knex.raw(sql).catch(() => refused.push(row))
    }
    if (refused.length === waiting.length) throw new Error(`no rows for ${refused.map(({ table }) => table).join()}`)
    waiting = refused
  }
}

function literalOf(type: string): string {
  if (type.endsWith('[]')) return `'{}'`
  if (/^(?:bigint|integer|smallint|numeric|double precision|real)$/.test(type)) return '1'
  if (type === 'uuid') return `'6f2d3c1e-7b7a-4a39-9c53-0d2f5f7a1b11'`
  if (type.startsWith('json')) return `'{"a": 1}'`
  if (/^timestamp|^date/.test(type)) return `'2024-02-03'`
  if (type === 'inet') return `'10.0.0.1'`
  return type === 'boolean' ? 'true' : `'1'`
}
