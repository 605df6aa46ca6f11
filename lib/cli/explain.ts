/** `koa-viewsets explain`: what each route of an API does, and the SQL that it sends. */
import { formatExplanations } from '../explain/format-explanation.js'
import { type Command, givenText } from './command.js'
import { loadApi, MODULE_HELP, prepare } from './load-api.js'

export const explain: Command = {
  summary: 'tell what the routes of a router do, and the SQL that they send',
  positionals: '<module>',
  help: [
    ...MODULE_HELP,
    ['--route <name>', 'one route (book-list), or those of a basename (book)'],
    ['--json', 'write JSON'],
  ],
  options: { export: { type: 'string' }, route: { type: 'string' }, json: { type: 'boolean' } },
  async run(values, { stdout }, positionals) {
    const api = await loadApi(positionals, givenText(values, 'export'))
    await prepare(api)
    const explanations = await api.explain(givenText(values, 'route'))
    stdout.write(values['json'] ? `${JSON.stringify(explanations, null, 2)}\n` : formatExplanations(explanations))
  },
}
