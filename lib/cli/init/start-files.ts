/** `main.ts` and `authentication.ts` of `init`, which do not depend on the database. */
import { importOf } from '../schema/source-text.js'
import { type SourceFile, sourceFile } from './header.js'

export function authenticationFile(): SourceFile {
  return sourceFile('authentication.ts', AUTHENTICATION)
}

export function mainFile(): SourceFile {
  return sourceFile('main.ts', MAIN)
}

const AUTHENTICATION = `${importOf(['Authentications'], 'koa-viewsets', { typeOnly: true })}
/**
 * How callers are known, for all view sets. There is no way yet, so that every request is refused: all view sets are for
 * authenticated callers (\`IsAuthenticated\`). Name one or more of
 *
 * - \`SessionAuthentication\`, where your app has sessions: \`new SessionAuthentication({ getUser: ({ session }) => … })\`
 * - \`TokenAuthentication\`: \`new TokenAuthentication({ getUserForToken: (token) => … })\`
 * - \`APIKeyAuthentication\` of \`koa-viewsets/api-keys\`, whose keys live in your database; \`JWTAuthentication\` of \`koa-viewsets/jwt\`
 * - a class of your own that extends \`BaseAuthentication\`
 *
 * A user that another middleware has set as \`ctx.state.user\` is taken as it is. A user has an \`id\`.
 */
export const authenticationClasses: Authentications = []
`

const MAIN_IMPORTS = [
  "import knex from 'knex'",
  "import Koa from 'koa'",
  "import { errors } from 'koa-viewsets/plugins'",
  "import { Model } from 'objection'",
  "import { createApi } from './api.js'",
  "import { authenticationClasses } from './authentication.js'",
]

const MAIN = `${MAIN_IMPORTS.join('\n')}

/** DATABASE_URL names the database; PORT and HOST say where the API listens. */
const { DATABASE_URL, PORT = '3000', HOST = '127.0.0.1' } = process.env
if (!DATABASE_URL) throw new Error('DATABASE_URL is not set')

const database = knex({
  client: 'pg',
  connection: {
    connectionString: DATABASE_URL,
    // every wait has an end
    statement_timeout: 10_000,
    query_timeout: 15_000,
    keepAlive: true,
    // compiling what clients ask takes longer than answering it
    options: '-c jit=off',
  },
  acquireConnectionTimeout: 5_000,
  compileSqlOnError: false,
})
Model.knex(database)
const api = createApi()
await api.prepare()

const app = new Koa()
app.on('error', (error: Error) => console.error(error, error.cause ?? ''))
app.use(errors()).use(api.routes())
const server = app.listen(Number(PORT), HOST, () => console.log(\`The API is at http://\${HOST}:\${PORT}/api\`))
if (authenticationClasses.length === 0) console.warn('Every request is refused, until authentication.ts names a way')

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, async () => {
    server.close()
    await api.close()
    await database.destroy()
  })
}
`
