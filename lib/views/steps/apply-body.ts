/** Patch documents: what they change of an object that is held becomes the body that a plain PATCH would have had. */

import { ConfigurationError } from '../../kernel/errors.js'
import type { PatchFormat } from '../../parsers/parser.js'
import { applyOperations, DEFAULT_MAX_COPIED } from '../../patches/json-patch.js'
import { finished, workingCopy, workingCopyOf } from '../../patches/json-values.js'
import { JsonPatchParser } from '../../patches/patch-parsers.js'
import { type PatchOperation, readOperations } from '../../patches/read-operations.js'
import { changedInput, holdNested, readableOperations } from '../../serializers/changed-input.js'
import type { BoundField } from '../../serializers/contract.js'
import { type Merging, mergedInput } from '../../serializers/merged-input.js'
import type { Serializer } from '../../serializers/serializer.js'
import { foundObject, type GenericView } from '../generic-view.js'
import { inputSerializerOf } from './input-serializer.js'
import { refuseUnknownNames } from './refuse-unknown-names.js'
import { askReadable } from './represent.js'

/**
 * Puts the changes in the place of the document, in `view.body` and `ctx.request.body`: hooks, validation and messages are
 * then those of a plain PATCH.
 * @returns the object, which may have been read anew
 * @throws ApiError 400 or 409 an operation cannot be applied, 409 a nested object is gone
 */
export async function applyBody(view: GenericView, format: PatchFormat, object: object): Promise<object> {
  if (format === 'operations') return applyToShown(view, object)
  takeData(view, await mergedInput(view.body.data, mergingOf(view, object)))
  return object
}

/** Applies operations to all that the caller reads of the object, whatever the answer is to show. */
async function applyToShown(view: GenericView, found: object): Promise<object> {
  const { serializer } = mergingOf(view, found)
  const operations = readableOperations(readOperations(view.body.data), serializer.plan)
  const holds = await holdNested(serializer, [found], (bound) => operations.some((one) => writes(one, bound)))
  const object = holds ? await foundObject(view) : found
  const merging = mergingOf(view, object)
  const parser = view.plan.policies.parsers.find((one) => one instanceof JsonPatchParser)
  await askReadable(view, [object])
  const before = workingCopyOf(namedPart(merging.serializer.data, operations))
  const after = applyOperations(workingCopy(before), operations, { maxCopied: parser?.limit ?? DEFAULT_MAX_COPIED })
  takeData(view, finished(await changedInput({ before, after }, merging)))
  // a list of operations has no names to look at before
  refuseUnknownNames(view)
  return object
}

/** What is shown, with the values that operations can change or look at: by their names, all where one is about the whole object. */
function namedPart(shown: object, operations: readonly PatchOperation[]): object {
  const pointers = operations.flatMap(({ op, path, from }) => (op === 'move' || op === 'copy' ? [path, from] : [path]))
  const names = new Set(pointers.map(([name]) => name))
  if (names.has(undefined)) return shown
  // the names of the others stay, for `did you mean`; a copy keeps the digits that stand beside members
  const part: Record<string, unknown> = { ...shown }
  for (const name of Object.keys(part)) if (!names.has(name)) part[name] = null
  return part
}

/** True where the operation may write into a field of the outermost object. */
function writes({ op, path, from }: PatchOperation, { name }: BoundField): boolean {
  if (op === 'test') return false
  return path.length === 0 || path[0] === name || (op === 'move' && from[0] === name)
}

function mergingOf(view: GenericView, object: object): Merging & { readonly serializer: Serializer } {
  const serializer = inputSerializerOf(view, { obj: object, partial: true })
  // a queryset of the application's may show less of its columns
  return { serializer, object, isHeld: view.plan.resource.isWholeTable }
}

function takeData(view: GenericView, data: unknown): void {
  view.body = { data, textual: false }
  Object.assign(view.ctx.request, { body: data })
}

/** A patch document must not pass for plain data. */
export function notApplied({ plan: { viewClass, action } }: GenericView): ConfigurationError {
  return new ConfigurationError(
    `${viewClass.name}.${action}(): a patch document is applied by getObjectToWrite(); call it before getInputSerializer()`,
  )
}
