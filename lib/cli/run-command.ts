/** The command `koa-viewsets`. */

import { createRequire } from 'node:module'
import { type ParseArgsConfig, parseArgs } from 'node:util'
import { didYouMean } from '../kernel/near-miss.js'
import { messageOf } from '../kernel/quote.js'
import { collectstatic } from './collectstatic.js'
import { type Command, type Terminal, UsageError, type Values } from './command.js'
import { explain } from './explain.js'
import { init } from './init/init.js'
import { openapi } from './openapi.js'
import { policies } from './policies.js'
import { types } from './row-types.js'

/** All subcommands. */
const commands = new Map<string, Command>([
  ['collectstatic', collectstatic],
  ['explain', explain],
  ['init', init],
  ['openapi', openapi],
  ['policies', policies],
  ['types', types],
])

const EXIT = { done: 0, failed: 1, usage: 2 } as const

/**
 * Runs a command line. Results go to stdout, problems to stderr.
 * @param args what follows the program's name
 * @returns the exit code: 0 done, 1 failed, 2 called in a wrong way
 */
export async function runCommand(args: readonly string[], terminal: Terminal): Promise<number> {
  const { stdout, stderr } = terminal
  const [name, ...rest] = args
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    ;(name === undefined ? stderr : stdout).write(overview())
    return name === undefined ? EXIT.usage : EXIT.done
  }
  if (name === '--version') {
    const { version } = createRequire(import.meta.url)('koa-viewsets/package.json') as { version: string }
    stdout.write(`${version}\n`)
    return EXIT.done
  }
  const command = commands.get(name)
  if (!command) {
    stderr.write(
      `koa-viewsets: there is no command ${JSON.stringify(name)}${didYouMean(name, commands.keys())}\n\n${overview()}`,
    )
    return EXIT.usage
  }
  try {
    const { values, positionals } = readOptions(command, rest)
    if (values['help']) stdout.write(usage(name, command))
    else await command.run(values, terminal, positionals)
    return EXIT.done
  } catch (error) {
    const wrong = error instanceof UsageError
    stderr.write(`${prefixLines(`koa-viewsets ${name}: `, messageOf(error))}\n`)
    if (wrong) stderr.write(`\n${usage(name, command)}`)
    return wrong ? EXIT.usage : EXIT.failed
  }
}

function readOptions({ options, positionals }: Command, args: string[]): Given {
  const help = { type: 'boolean', short: 'h' } as const
  const config: ParseArgsConfig = {
    args,
    options: { ...options, help },
    allowPositionals: positionals !== undefined,
  }
  try {
    return parseArgs(config)
  } catch (error) {
    const [, unknown] = /^Unknown option '--?([^']+)'/.exec(messageOf(error)) ?? []
    const near = unknown === undefined ? '' : didYouMean(unknown, Object.keys(config.options as object))
    throw new UsageError(messageOf(error) + near, { cause: error })
  }
}

/** What was given on the command line. */
interface Given {
  readonly values: Values
  readonly positionals: readonly string[]
}

function overview(): string {
  const list = [...commands].map(([name, { summary }]) => [name, summary] as const)
  return `Usage: koa-viewsets <command> [options]\n\n${table(list)}\nkoa-viewsets <command> --help tells more.\n`
}

function usage(name: string, { summary, help, positionals }: Command): string {
  const given = positionals === undefined ? '' : `${positionals} `
  return `koa-viewsets ${name}: ${summary}\n\nUsage: koa-viewsets ${name} ${given}[options]\n\n${table(help)}`
}

function table(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length)) + 2
  return rows.map(([left, right]) => `  ${left.padEnd(width)}${right}\n`).join('')
}

function prefixLines(prefix: string, text: string): string {
  return text.replace(/^/gm, prefix)
}
