/** Who uses the atlas: three demo users, known by a session, a token or an API key. */
import type { Knex } from 'knex'
import { type Authentications, SessionAuthentication, TokenAuthentication } from 'koa-viewsets'
import { APIKey, APIKeyAuthentication, createApiKeysTable, generateApiKey } from 'koa-viewsets/api-keys'
import { Model } from 'objection'

export class User extends Model {
  static override tableName = 'users'

  declare id: number
  declare name: string
  declare is_staff: boolean
}

// Fixed values, because this is a demo on one machine: an application keeps hashes, and its users choose the passwords.
const DEMO_USERS = [
  { id: 1, name: 'alice', is_staff: false, password: 'alice', token: 'alice-demo-token' },
  { id: 2, name: 'bob', is_staff: false, password: 'bob', token: 'bob-demo-token' },
  { id: 3, name: 'staff', is_staff: true, password: 'staff', token: 'staff-demo-token' },
] as const

const HOUR = 3_600_000

class DemoTokens extends TokenAuthentication {
  override async getUserForToken(token: string) {
    const known = DEMO_USERS.find((user) => user.token === token)
    return known && User.query().findById(known.id)
  }
}

class DemoSession extends SessionAuthentication {
  constructor() {
    super({
      getUser: ({ session }) => (session?.['userId'] ? User.query().findById(session['userId']) : null),
      cookie: 'atlas',
    })
  }
}

class DemoKeys extends APIKeyAuthentication {
  constructor() {
    super({ getUserForKey: ({ user_id }) => User.query().findById(Number(user_id)) })
  }
}

/** How the atlas knows its callers; the first that knows one counts. */
export const schemes: Authentications = [DemoSession, DemoTokens, DemoKeys]

/** The user of a name and password; undefined when they do not fit. */
export function findUser(name: unknown, password: unknown): { id: number; name: string } | undefined {
  return DEMO_USERS.find((user) => user.name === name && user.password === password)
}

/** Creates the users and the table of API keys, where they are missing. */
export async function prepareUsers(knex: Knex): Promise<void> {
  await createApiKeysTable(knex)
  const rows = DEMO_USERS.map(({ id, name, is_staff }) => ({ id, name, is_staff }))
  await knex('users').insert(rows).onConflict('id').ignore()
}

/** Lines to try with, for each user: the token, and an API key that is valid for a day. */
export async function describeUsers(knex: Knex): Promise<string[]> {
  await APIKey.query(knex).delete().where('name', 'demo').where('expires_at', '<', new Date())
  const lines: string[] = []
  for (const { id, name, token, password } of DEMO_USERS) {
    const expiresAt = new Date(Date.now() + 24 * HOUR)
    const { key } = await generateApiKey({ userId: id, name: 'demo', prefix: 'atlas', expiresAt }, knex)
    lines.push(
      `${name.padEnd(5)} password ${password.padEnd(5)}  Authorization: Token ${token.padEnd(16)}  X-API-Key: ${key}`,
    )
  }
  return lines
}
