/** Asks the function of a rule what it says of callers who are not there yet: settings stand for their values. */

import { isDeepStrictEqual } from 'node:util'
import { messageOf, quote } from '../kernel/quote.js'
import { ignoreRejection, isPromise } from '../kernel/realms.js'
import { CallerSetting, NotSaid } from './caller-setting.js'
import { type Condition, RawCondition } from './conditions.js'
import type { RuleCaller } from './rule.js'

type MakeCondition = (caller: RuleCaller) => Condition

/** Values that tell what a function does with one, beside those that it names itself. */
const TRIED = [undefined, null, false, true, 0, 1, -1, '', 'x', [], {}]
const NAME = /^[a-z_]\w*$/i
/** Strings and numbers in the source of a function, with which it may compare. */
const LITERALS = /'([^'\\\n]*)'|"([^"\\\n]*)"|`([^`$\\]*)`|\b(\d+(?:\.\d+)?)\b/g
const MOST_LITERALS = 50

/**
 * The condition that a function makes of any caller. Functions that decide by a value, or compute with one, are found by
 * what they read and do not pass on, and by what they make of other values.
 * @throws {NotSaid} only the function itself can decide
 */
export function recordCondition(make: MakeCondition): Condition {
  const recording = new Recording()
  const recorded = recording.ask(make)
  const lost = recording.lost
  if (lost !== undefined) throw new NotSaid(`decides by ${lost}`)
  for (const path of recording.paths) {
    const isValue = recording.passed.has(path)
    for (const value of isValue ? [...TRIED, ...literalsOf(make)] : [undefined, null]) {
      compare(make, recorded, { path, value })
    }
  }
  return recorded
}

/** A value of the caller, as it is tried. */
interface Trial {
  readonly path: string
  readonly value: unknown
}

function compare(make: MakeCondition, recorded: Condition, trial: Trial): void {
  const { path, value } = trial
  let made: unknown
  try {
    made = new Recording(trial).ask(make)
  } catch (error) {
    // who asks a value that is not there for one of its own gets no condition, and no row
    if (error instanceof TypeError && (value === undefined || value === null)) return
    throw error
  }
  if (!isDeepStrictEqual(made, replaced(recorded, trial))) throw new NotSaid(`decides by ${path}`)
}

/** The condition, with a value in the place of its settings; what is below a missing value is undefined. */
function replaced(part: unknown, { path, value }: Trial): unknown {
  return mapCondition(part, (one) => {
    if (!(one instanceof CallerSetting)) return one
    if (one.path === path) return value
    return one.path.startsWith(`${path}.`) ? undefined : one
  })
}

function literalsOf(make: MakeCondition): readonly unknown[] {
  const found = [...String(make).matchAll(LITERALS)].flatMap(([, one, other, template, number]) =>
    number === undefined ? (one ?? other ?? template ?? '') : [Number(number), number],
  )
  return [...new Set(found)].slice(0, MOST_LITERALS)
}

/** What a function reads of its caller, while it is asked. */
class Recording {
  /** All that was read: a path as often as it was. */
  readonly #reads: Read[] = []
  readonly #read = new WeakMap<object, Read>()
  readonly #trial: Trial | undefined

  constructor(trial?: Trial) {
    this.#trial = trial
  }

  ask(make: MakeCondition): Condition {
    const ctx = only('ctx', { state: this.#state() })
    const made = plainly(() => make({ user: this.#value('user'), ctx } as unknown as RuleCaller))
    return mapCondition(made, (one) => this.#setting(one)) as Condition
  }

  get paths(): ReadonlySet<string> {
    return new Set(this.#reads.map(({ path }) => path))
  }

  /** The paths of values that are part of the condition. */
  get passed(): ReadonlySet<string> {
    return new Set(this.#reads.filter(({ isPassed }) => isPassed).map(({ path }) => path))
  }

  /** What was read, and is no part of the condition. */
  get lost(): string | undefined {
    return this.#reads.find(({ isUsed }) => !isUsed)?.path
  }

  #state(): object {
    const read = (key: string) => this.#value(key === 'user' ? 'user' : `ctx.state.${key}`)
    return new Proxy({}, { ...refusing('ctx.state'), get: (_, key) => read(nameOf(key, 'ctx.state')) })
  }

  #value(path: string, from?: Read): unknown {
    const read: Read = { path, from, isPassed: false, isUsed: path === 'user' }
    this.#reads.push(read)
    if (this.#trial?.path === path) return this.#trial.value
    const value = new Proxy(
      {},
      { ...refusing(path), get: (_, key) => this.#value(`${path}.${nameOf(key, path)}`, read) },
    )
    this.#read.set(value, read)
    return value
  }

  #setting(value: unknown): unknown {
    const read = this.#read.get(value as object)
    if (!read) return value
    if (read.path === 'user') throw new NotSaid('has the user in the place of a value')
    read.isPassed = true
    for (let one: Read | undefined = read; one; one = one.from) one.isUsed = true
    return new CallerSetting(read.path)
  }
}

interface Read {
  readonly path: string
  readonly from: Read | undefined
  /** It is part of the condition; or something that was read of it is. */
  isPassed: boolean
  isUsed: boolean
}

/** The parts of a condition, each as it is made. */
function mapCondition(part: unknown, map: (value: unknown) => unknown): unknown {
  const made = map(part)
  if (made !== part || typeof made !== 'object' || made === null) return made
  if (made instanceof CallerSetting || Buffer.isBuffer(made)) return made
  if (made instanceof Date) throw new NotSaid('makes a moment of its own')
  if (isPromise(made)) {
    ignoreRejection(made)
    throw new NotSaid('is async')
  }
  if (made instanceof RawCondition) {
    return new RawCondition(
      [...made.strings],
      made.values.map((value) => mapCondition(value, map)),
    )
  }
  if (Array.isArray(made)) return made.map((value) => mapCondition(value, map))
  return Object.fromEntries(Object.entries(made).map(([name, value]) => [name, mapCondition(value, map)]))
}

function nameOf(key: string | symbol, path: string): string {
  if (typeof key === 'symbol') throw new NotSaid(`computes with ${path}`)
  if (!NAME.test(key)) throw new NotSaid(`reads ${quote(key)} of ${path}, which no setting can be named by`)
  return key
}

/** What can be done with a value but to read one of its own. */
function refusing(path: string): ProxyHandler<object> {
  const refuse = () => {
    throw new NotSaid(`computes with ${path}`)
  }
  return {
    has: refuse,
    ownKeys: refuse,
    getPrototypeOf: refuse,
    getOwnPropertyDescriptor: refuse,
    set: refuse,
    defineProperty: refuse,
    deleteProperty: refuse,
  }
}

/** An object that has nothing but these. */
function only(path: string, known: Readonly<Record<string, unknown>>): object {
  return new Proxy(known, {
    ...refusing(path),
    get(_, key) {
      if (typeof key === 'string' && Object.hasOwn(known, key)) return known[key]
      throw new NotSaid(`reads ${path}.${String(key)}`)
    },
  })
}

/** Runs a function that may not ask for the time or for chance: it is asked once for all callers. */
function plainly<Made>(make: () => Made): Made {
  const { Date: date } = globalThis
  const { random } = Math
  const refuse = (what: string) => () => {
    throw new NotSaid(`asks for ${what}`)
  }
  globalThis.Date = new Proxy(date, {
    construct: refuse('the time'),
    apply: refuse('the time'),
    get: (target, key) => (key === 'now' ? refuse('the time') : Reflect.get(target, key)),
  })
  Math.random = refuse('a random number')
  try {
    return make()
  } catch (error) {
    if (error instanceof NotSaid || error instanceof TypeError) throw error
    throw new NotSaid(`throws ${messageOf(error)}`)
  } finally {
    globalThis.Date = date
    Math.random = random
  }
}
