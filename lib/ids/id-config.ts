/** `idConfig`: how a model's external ids are configured, and what can be wrong with that (wire format, section 4; promise E15). */

import { ConfigurationError } from '../kernel/errors.js'
import { didYouMean } from '../kernel/near-miss.js'
import type { SignedOptions } from './codecs.js'
import { RANDOM_ALPHABET, randomWidth } from './new-public-id.js'

/** Configuration of `IDMixin`. */
export interface IDConfig {
  /**
   * - `signed`: the key and a signature, so that ids cannot be guessed
   * - `encoded`: the key in another alphabet; it hides nothing from a patient reader
   * - `raw`: the key's decimal digits, as text
   * - `random`: the column `public_id`, filled on insert unless it has a default; it hides order and count, too
   */
  readonly mode: string
  /**
   * 2 to 62 different ASCII letters and digits. There is no default for `signed` and `encoded`: changing it breaks every id given out.
   * @default 0-9A-Za-z, for `random`
   */
  readonly alphabet?: string
  /** Keys of at least 16 characters, for `signed`. The first signs, all verify: a new one at the front rotates. */
  readonly hmacKeys?: readonly string[]
  /** With `signed`, each user sees other ids, and nobody else's are found. An anonymous caller has none. @default false */
  readonly includeUser?: boolean
  /** Added to the key before encoding, with `signed` and `encoded`. @default 0 */
  readonly offset?: number
  /** Character before the signature, with `signed`: `.`, `_` or `~`. @default '.' */
  readonly separator?: string
  /** Length of the signature in bytes, 8 to 32, with `signed`. @default 8 */
  readonly signatureBytes?: number
  /** Seconds that an id is valid at least, and less than twice as long, with `signed`. @default ids do not expire */
  readonly expiresIn?: number
  /** The time in milliseconds, by which ids expire. @default Date.now */
  readonly now?: () => number
}

/** Configuration of `PublicIDMixin`. */
export interface PublicIDConfig {
  /** `encoded_pk` (as mode `encoded`), `random` (as mode `random`), or `uuid7`: the column `public_id`, filled with UUIDs that grow with time. */
  readonly strategy: string
  /** As of `IDConfig`; for `encoded_pk` and `random`. */
  readonly alphabet?: string
  /** Added to the key before encoding, with `encoded_pk`. @default 0 */
  readonly offset?: number
  /** With `encoded_pk`, shorter ids are filled on the left with the alphabet's first character, up to so many. @default 1 */
  readonly width?: number
}

/** A configuration that was checked, with its defaults. */
export type IDSettings =
  | ({ readonly kind: 'signed' } & Omit<SignedOptions, 'table'>)
  | { readonly kind: 'encoded'; readonly alphabet: string; readonly offset: number; readonly width: number }
  | { readonly kind: 'raw' }
  | { readonly kind: 'random'; readonly alphabet: string }
  | { readonly kind: 'uuid7' }

const MODES = ['signed', 'encoded', 'raw', 'random'] as const
const STRATEGIES = ['encoded_pk', 'random', 'uuid7'] as const
const SEPARATORS = ['.', '_', '~']
const LEAST_KEY = 16
const MOST_WIDTH = 64
/** The most characters of a stored id. */
const LONGEST_STORED = 64

const ID_OPTIONS: readonly string[] = Object.keys({
  mode: true,
  alphabet: true,
  hmacKeys: true,
  includeUser: true,
  offset: true,
  separator: true,
  signatureBytes: true,
  expiresIn: true,
  now: true,
} satisfies Record<keyof IDConfig, true>)

const PUBLIC_ID_OPTIONS: readonly string[] = Object.keys({
  strategy: true,
  alphabet: true,
  offset: true,
  width: true,
} satisfies Record<keyof PublicIDConfig, true>)

/** Reads `static idConfig`. @throws {ConfigurationError} naming class, option and fix */
export function readIDConfig(model: string, config: IDConfig | null): IDSettings {
  const check = new Check(`${model}: static idConfig`)
  const given = check.object(config, ID_OPTIONS, "{ mode: 'signed', alphabet, hmacKeys }")
  const mode = check.oneOf('mode', given.mode, MODES)
  // what would weaken ids if it were passed over
  if (mode !== 'signed') {
    check.not('includeUser', given.includeUser, `${mode} ids have no room for a user; use mode 'signed'`)
    check.not('expiresIn', given.expiresIn, `${mode} ids do not expire; use mode 'signed'`)
  }
  if (mode === 'raw' || mode === 'random') check.not('offset', given.offset, `${mode} ids have no offset; take it out`)
  switch (mode) {
    case 'raw':
      return { kind: 'raw' }
    case 'random':
      return { kind: 'random', alphabet: check.randomAlphabet(given.alphabet) }
    case 'encoded':
      return { kind: 'encoded', alphabet: check.alphabet(given.alphabet), offset: check.offset(given.offset), width: 1 }
    case 'signed':
      return {
        kind: 'signed',
        alphabet: check.alphabet(given.alphabet),
        offset: check.offset(given.offset),
        hmacKeys: check.keys(given.hmacKeys),
        includeUser: check.flag('includeUser', given.includeUser),
        separator: check.oneOf('separator', given.separator ?? '.', SEPARATORS),
        signatureBytes: check.whole('signatureBytes', given.signatureBytes ?? 8, 8, 32),
        expiresIn:
          given.expiresIn === undefined
            ? undefined
            : check.whole('expiresIn', given.expiresIn, 1, Number.MAX_SAFE_INTEGER, 'seconds'),
        now: check.clock(given.now),
      }
  }
}

/** Reads `static publicIdConfig`. @throws {ConfigurationError} naming class, option and fix */
export function readPublicIDConfig(model: string, config: PublicIDConfig | null): IDSettings {
  const check = new Check(`${model}: static publicIdConfig`)
  const given = check.object(config, PUBLIC_ID_OPTIONS, "{ strategy: 'uuid7' }")
  const strategy = check.oneOf('strategy', given.strategy, STRATEGIES)
  if (strategy !== 'encoded_pk') {
    check.not('offset', given.offset, `the strategy ${strategy} has no offset; take it out`)
    check.not('width', given.width, `the strategy ${strategy} has no width; take it out`)
  }
  switch (strategy) {
    case 'uuid7':
      return { kind: 'uuid7' }
    case 'random':
      return { kind: 'random', alphabet: check.randomAlphabet(given.alphabet) }
    case 'encoded_pk':
      return {
        kind: 'encoded',
        alphabet: check.alphabet(given.alphabet),
        offset: check.offset(given.offset),
        width: check.whole('width', given.width ?? 1, 1, MOST_WIDTH, 'characters'),
      }
  }
}

/** Checks options one by one; each check names the option and the fix. */
class Check {
  readonly #where: string

  constructor(where: string) {
    this.#where = where
  }

  object<T extends object>(config: T | null, known: readonly string[], example: string): T {
    if (typeof config !== 'object' || config === null)
      throw new ConfigurationError(`${this.#where} is missing; set it to ${example}`)
    const unknown = Object.keys(config).find((name) => !known.includes(name))
    if (unknown !== undefined)
      throw this.#mistake(unknown, `is no option${didYouMean(unknown, known) || `; take one of ${known.join(', ')}`}`)
    return config
  }

  oneOf<const T extends string>(name: string, value: unknown, choices: readonly T[]): T {
    if (choices.includes(value as T)) return value as T
    throw this.#mistake(name, `is ${show(value)}; take one of ${choices.map((choice) => `'${choice}'`).join(', ')}`)
  }

  not(name: string, value: unknown, problem: string): void {
    if (value !== undefined && value !== false && value !== 0) throw this.#mistake(name, `is set, but ${problem}`)
  }

  alphabet(value: unknown): string {
    if (value === undefined) {
      throw this.#mistake(
        'alphabet',
        'is missing; choose 2 to 62 letters and digits in an order of your own, and keep them: another alphabet is other ids',
      )
    }
    const fits = typeof value === 'string' && /^[A-Za-z0-9]{2,62}$/.test(value)
    if (!fits) throw this.#mistake('alphabet', `is ${show(value)}; give 2 to 62 ASCII letters and digits`)
    const repeated = [...value].find((character, index) => value.indexOf(character) !== index)
    if (repeated === undefined) return value
    throw this.#mistake('alphabet', `has "${repeated}" twice; give each character once`)
  }

  randomAlphabet(value: unknown): string {
    const alphabet = this.alphabet(value ?? RANDOM_ALPHABET)
    if (randomWidth(alphabet) <= LONGEST_STORED) return alphabet
    throw this.#mistake('alphabet', `makes ids of more than ${LONGEST_STORED} characters; give at least 4 characters`)
  }

  keys(value: unknown): readonly [string, ...string[]] {
    const isList = Array.isArray(value) && value.length > 0
    if (!isList) throw this.#mistake('hmacKeys', 'is missing; give a list of one or more random keys')
    for (const [index, key] of (value as unknown[]).entries()) {
      if (typeof key !== 'string' || key.length < LEAST_KEY) {
        throw this.#mistake(`hmacKeys[${index}]`, `is no text of at least ${LEAST_KEY} characters; give a random one`)
      }
    }
    return [...value] as [string, ...string[]]
  }

  flag(name: string, value: unknown): boolean {
    if (value === undefined || typeof value === 'boolean') return value ?? false
    throw this.#mistake(name, `is ${show(value)}; give true or false`)
  }

  offset(value: unknown): number {
    return this.whole('offset', value ?? 0, 0, Number.MAX_SAFE_INTEGER)
  }

  whole(name: string, value: unknown, least: number, most: number, unit = ''): number {
    if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most) return value as number
    const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`
    throw this.#mistake(name, `is ${show(value)}; give a whole number ${unit && `of ${unit} `}${range}`)
  }

  clock(value: unknown): () => number {
    if (value === undefined) return Date.now
    if (typeof value === 'function') return value as () => number
    throw this.#mistake('now', 'is no function; give one that returns the time in milliseconds')
  }

  #mistake(name: string, problem: string): ConfigurationError {
    return new ConfigurationError(`${this.#where}.${name} ${problem}`)
  }
}

function show(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : String(value)
}
