/** The methods of a view class that an application overrides: looked up once for each class, never by a request. */
import { ACTIONS, actionNamed } from './actions.js'
import { builtInMethods } from './built-in.js'

/** Methods that choose objects, and decide who may have them. */
export const CHOOSING = ['getQueryset', 'filterQueryset', 'getObject', 'checkObjectPermissions', 'getSerializerClass']

/** Methods that show objects. */
export const SHOWING = ['getSerializer', 'loadRelated'] as const
/** Methods that choose what a body is read by. */
export const INPUT = ['getInputSerializer', 'getSerializerClass'] as const

export type InsertAction = 'create' | 'bulkCreate'
/** Actions that answer with the objects they have written. */
export type WritingAction = InsertAction | 'update' | 'bulkUpdate'
/** Answers that are made of rows. A stream is a list that is written row by row. */
export type RowAnswer = WritingAction | 'partialUpdate' | 'list' | 'stream' | 'retrieve'

/** The methods that have a say in an answer of rows. */
export function rowMethods(answer: RowAnswer): readonly string[] {
  if (answer === 'stream') return ['list', ...SHOWING]
  const { answers = [], runs = [], writes } = actionNamed(answer) ?? {}
  // what is saved is shown by the serializer of the input
  return [answer, runs, ...SHOWING, answers, writes === undefined ? [] : INPUT].flat()
}

/**
 * The methods that an application has put in the place of ours, in the class or as fields of its instances. Each is true where
 * code of the application's decides, so that a request takes the general way.
 */
export class Overrides {
  readonly #name: string
  readonly #builtIn: ReadonlySet<string>

  /** @param name that of the class @param sample an instance of it, whose fields count as its methods do */
  constructor(name: string, sample: object) {
    this.#name = name
    // an action that a class takes away has nothing in its place
    const missing = ACTIONS.filter(({ name }) => (sample as Readonly<Record<string, unknown>>)[name] === undefined)
    this.#builtIn = new Set([...builtInMethods(sample), ...missing.map(({ name }) => name)])
  }

  /** True for a method that is not ours: the application has put its own there, or added one. */
  has(method: string): boolean {
    return !this.#builtIn.has(method)
  }

  /** Objects that are written are found in the application's own way. */
  get writtenLookup(): boolean {
    return this.has('getObject') || this.has('getObjectToWrite')
  }

  /** The first of these methods that is not ours. */
  first(methods: readonly string[]): string | undefined {
    return methods.find((method) => this.has(method))
  }

  /** A sentence that names the first of these methods that is overridden; null where none is. */
  why(methods: readonly string[]): string | null {
    const method = this.first(methods)
    return method === undefined ? null : `${this.#name} overrides ${method}()`
  }

  /** True for an action that does not come with the package, or that the application has overridden in whole or in part. */
  hasPartOf(action: string): boolean {
    const { runs } = actionNamed(action) ?? {}
    return this.has(action) || (runs !== undefined && this.has(runs))
  }
}
