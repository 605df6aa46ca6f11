/** `koa-viewsets policies`: the rules of an API as row level security, and grants of columns, of PostgreSQL. */
import { type Command, givenText } from './command.js'
import { loadApi, MODULE_HELP, prepare } from './load-api.js'

export const policies: Command = {
  summary: 'write the rules of a router as policies of PostgreSQL',
  positionals: '<module>',
  help: [...MODULE_HELP, ['--role <role>', 'whose grants are limited to the columns that rules leave to all']],
  options: { export: { type: 'string' }, role: { type: 'string' } },
  async run(values, { stdout, stderr }, positionals) {
    const api = await loadApi(positionals, givenText(values, 'export'))
    await prepare(api)
    const { sql, left } = await api.policies(givenText(values, 'role'))
    stdout.write(sql)
    for (const one of left) stderr.write(`not printed: ${one}\n`)
  },
}
