/** A key of several columns as paths name it: its values in the order of `idColumn`, with commas between them (`/enrolments/7,3`). */

import type { IDContext } from '../ids/codec.js'
import { describeModel } from '../models/describe-model.js'
import type { Column } from '../models/model-description.js'
import type { ModelClass } from '../models/objection.js'
import { type ColumnKey, type KeyValues, type ObjectKey, objectKey } from './object-key.js'

/** The key of objects that several columns name together. */
export class CompositeKey implements ObjectKey {
  readonly columns: readonly Column[]
  readonly parts: readonly ColumnKey[]
  readonly name: string
  /** A primary key is. */
  readonly unique = true
  readonly ids = undefined
  readonly isPassing: boolean
  readonly problem: string | undefined

  constructor(parts: readonly ColumnKey[]) {
    this.parts = parts
    this.columns = parts.map(({ column }) => column)
    this.name = this.columns.map(({ property }) => property).join()
    this.isPassing = parts.some(({ isPassing }) => isPassing)
    this.problem = parts.find(({ problem }) => problem !== undefined)?.problem
  }

  fromText(text: string, context: IDContext): KeyValues | undefined {
    const texts = splitKey(text)
    if (texts?.length !== this.parts.length) return undefined
    const values: unknown[] = []
    for (const [index, part] of this.parts.entries()) {
      const value = part.fromText(texts[index] as string, context)
      if (value === undefined) return undefined
      values.push(...value)
    }
    return values
  }

  /** In a body a key is the string that paths have. */
  fromJson(value: unknown, context: IDContext): KeyValues | undefined {
    return typeof value === 'string' ? this.fromText(value, context) : undefined
  }

  /** The key as paths name it; undefined where a column holds nothing. @throws {AuthenticationFailed} ids are per user, and there is none */
  toText(values: KeyValues, context: IDContext): string | undefined {
    const texts = this.parts.map((part, index) => part.toText([values[index]], context))
    if (texts.some((text) => text === null || text === undefined)) return undefined
    return joined(texts)
  }

  formerTexts(values: KeyValues): readonly string[] {
    const texts = this.parts.map((part, index) => {
      const own = [values[index]]
      return [part.toText(own, {}), ...part.formerTexts(own)]
    })
    const [, ...former] = texts.reduce<readonly unknown[][]>(
      (all, some) => all.flatMap((before) => some.map((text) => [...before, text])),
      [[]],
    )
    return former.map(joined)
  }
}

/** The primary key of a model that has several columns; undefined for any other. */
export function compositeKey(model: ModelClass): CompositeKey | undefined {
  const { primaryKey } = describeModel(model)
  const parts = primaryKey.flatMap((property) => objectKey(model, property) ?? [])
  return parts.length > 1 && parts.length === primaryKey.length ? new CompositeKey(parts) : undefined
}

const NEEDS_QUOTES = /[,"]/
/** A value in quotation marks, in which a backslash stands before another one and before a quotation mark, or one without. */
const VALUE = /"((?:[^"\\]|\\["\\])*)"|[^",]*/y
const ESCAPED = /\\(["\\])/g

function joined(texts: readonly unknown[]): string {
  return texts.map((text) => quoted(String(text))).join()
}

function quoted(text: string): string {
  return NEEDS_QUOTES.test(text) ? `"${text.replace(/["\\]/g, '\\$&')}"` : text
}

/** The values of a key, as texts; undefined where quotation marks are not closed. */
function splitKey(text: string): readonly string[] | undefined {
  const texts: string[] = []
  let position = 0
  for (;;) {
    VALUE.lastIndex = position
    const [whole = '', inner] = VALUE.exec(text) ?? []
    texts.push(inner === undefined ? whole : inner.replace(ESCAPED, '$1'))
    position += whole.length
    if (position === text.length) return texts
    if (text[position] !== ',') return undefined
    position++
  }
}
