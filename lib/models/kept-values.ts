/** Values of an update that stay as they are: hooks of the model see them beside the others, and they are not sent. */
import { isDeepStrictEqual } from 'node:util'
import type { Model } from 'objection'
import { ownCopy } from '../kernel/own-copy.js'
import { columnName, modelOf } from './objection.js'

type Values = Readonly<Record<string, unknown>>

/**
 * Adds stored values to a patch, so that hooks of the model see them, and leaves out of its UPDATE those that hooks have not changed.
 * @param kept the stored values by property
 * @returns a function that returns the properties which hooks have not changed
 */
export function showKept(patch: Model, kept: Values): () => readonly string[] {
  if (Object.keys(kept).length === 0) return () => []
  const model = modelOf(patch)
  const row = patch as Model & Record<string, unknown>
  // they are stored already, whatever the model's schema says of them today
  const shown = model.fromJson(ownCopy(kept), { patch: true, skipValidation: true }) as typeof row
  const properties = Object.keys(shown).filter((property) => !Object.hasOwn(patch, property))
  const before = new Map(properties.map((property) => [property, ownCopy(shown[property])]))
  for (const property of properties) row[property] = shown[property]
  const left = () => properties.filter((property) => isDeepStrictEqual(row[property], before.get(property)))
  const send: (builder?: unknown) => Record<string, unknown> = patch.$toDatabaseJson.bind(patch)
  Object.defineProperty(patch, '$toDatabaseJson', {
    value(builder?: unknown) {
      const sent = send(builder)
      for (const property of left()) delete sent[columnName(model, property)]
      return sent
    },
  })
  return left
}
