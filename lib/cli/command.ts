/** Subcommands of `koa-viewsets`: their contract. */
import type { ParseArgsConfig } from 'node:util'

/** Where a command writes. */
export interface Terminal {
  readonly stdout: Output
  readonly stderr: Output
}

export interface Output {
  write(text: string): unknown
  /** True for a terminal, on which progress may be shown. */
  readonly isTTY?: boolean
}

/** Options as they were given, by name. */
export type Values = Readonly<Record<string, string | boolean | readonly (string | boolean)[] | undefined>>

export interface Command {
  /** The command in one line, for the list of commands. */
  readonly summary: string
  /** The options, a line each, for `--help`. */
  readonly help: readonly (readonly [option: string, description: string])[]
  readonly options: NonNullable<ParseArgsConfig['options']>
  /** What may stand beside the options, for `--help`; absent for nothing. */
  readonly positionals?: string
  /** @throws UsageError what was given cannot be used; any other error is a failure */
  run(values: Values, terminal: Terminal, positionals: readonly string[]): Promise<void>
}

/** The command was called in a wrong way. */
export class UsageError extends Error {
  override readonly name: string = 'UsageError'
}

/** The names of an option, with commas between or given by several options; undefined for none. @throws UsageError one is empty */
export function givenNames(values: Values, name: string): readonly string[] | undefined {
  const given = values[name] as readonly string[] | undefined
  const names = given?.flatMap((text) => text.split(',')).map((one) => one.trim())
  if (names?.includes('')) throw new UsageError(`--${name} has an empty name`)
  return names && [...new Set(names)]
}

/** The text of an option; undefined where it was not given. @throws UsageError it is empty */
export function givenText(values: Values, name: string): string | undefined {
  const value = values[name] as string | undefined
  if (value === '') throw new UsageError(`--${name} is empty`)
  return value
}
