/** The two roles of `npm run test:roles`: who connections log in as, and who all statements of the API run as. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Knex } from 'knex'
import pg from 'pg'

/** The role of all statements: it may do everything. */
export const CALLER = 'koa_viewsets_caller'
/** Who connections log in as: a member of that role, which inherits nothing of it. */
export const LOGIN = 'koa_viewsets_login'
/** Tables that are used outside of any role: before one is known, or whoever calls. */
const OUTSIDE = [
  'closed_changes',
  'koa_viewsets_api_keys',
  'koa_viewsets_changes',
  'koa_viewsets_idempotency',
  'koa_viewsets_throttles',
  'koa_viewsets_usage',
  'koa_viewsets_webhook_deliveries',
  'koa_viewsets_webhook_endpoints',
  'koa_viewsets_webhook_progress',
  'users',
]

/** True where this run is under a role. */
export function runsAsRole(): boolean {
  return (process.env['DATABASE_ROLE'] ?? '') !== ''
}

/** Makes the two roles, and what gives the login its rights on tables that are used outside of any role. */
export async function createRoles(server: pg.ClientConfig): Promise<void> {
  const client = new pg.Client({ ...server, database: 'template1' })
  await client.connect()
  await client.query(`
    do $$ begin
      if to_regrole('${CALLER}') is null then create role ${CALLER} superuser nologin; end if;
      if to_regrole('${LOGIN}') is null then create role ${LOGIN} login noinherit password 'x'; end if;
    end $$;
    grant ${CALLER} to ${LOGIN};
    create or replace function grant_outside() returns event_trigger language plpgsql as $f$
      declare outside text;
      begin
        foreach outside in array array[${OUTSIDE.map((name) => `'${name}'`).join(', ')}] loop
          continue when to_regclass(outside) is null or has_table_privilege('${LOGIN}', outside, 'insert');
          execute format('grant all on %s to ${LOGIN}', outside);
          execute 'grant usage on all sequences in schema public to ${LOGIN}';
        end loop;
      end $f$;
    drop event trigger if exists grant_outside;
    create event trigger grant_outside on ddl_command_end when tag in ('CREATE TABLE', 'REVOKE') execute function grant_outside();`)
  await client.end()
}

/** True while a request is served. */
export const requests = new AsyncLocalStorage<true>()

interface Connection {
  query(text: string): Promise<unknown>
}
interface Client {
  acquireConnection(): Promise<Connection>
  releaseConnection(connection: Connection): Promise<void>
}

/** Has statements that no request sends run as the role. */
export function actOutsideRequests(knex: Knex): void {
  const client = knex.client as Client
  const { acquireConnection, releaseConnection } = client
  const acting = new WeakSet<Connection>()
  client.acquireConnection = async () => {
    const connection = await acquireConnection.call(client)
    if (requests.getStore()) return connection
    await connection.query(`set role ${CALLER}`)
    acting.add(connection)
    return connection
  }
  client.releaseConnection = async (connection) => {
    if (acting.delete(connection)) await connection.query('reset role').catch(() => {})
    await releaseConnection.call(client, connection)
  }
}
