/** JSON patches (RFC 6902): operations on a JSON value, one after the other, all or none. */

import { ApiError, ConfigurationError, type ErrorMessages, ValidationError } from '../kernel/errors.js'
import { didYouMean } from '../kernel/near-miss.js'
import { checkKinds } from '../kernel/option-kinds.js'
import { finished, isEqual, isJsonObject, setMember, sizeOf, workingCopy } from './json-values.js'
import { childAt, indexIn, type PatchOperation, type Pointer, readOperations, valueAt } from './read-operations.js'

/** Options of `applyPatch()`. */
export interface ApplyPatchOptions {
  /** The most operations. @default no limit */
  readonly maxOperations?: number
  /** The most characters of JSON that all `copy` together may add. @default 1_048_576 */
  readonly maxCopied?: number
}

export const DEFAULT_MAX_COPIED = 1024 * 1024

/**
 * What the operations of a JSON patch make of a value (RFC 6902), in their order. Neither argument is changed, and where one
 * operation fails there is no result. Numbers that were read with all their digits keep them.
 * @throws ValidationError (400) the document is no JSON patch, `maxOperations` or `maxCopied` is passed, or it removes the whole
 * @throws ApiError (409) a `test` fails, or nothing stands where an operation leads (RFC 5789, section 2.2)
 * @example applyPatch({ a: [1] }, [{ op: 'add', path: '/a/-', value: 2 }]) // { a: [1, 2] }
 */
export function applyPatch(target: unknown, operations: unknown, options: ApplyPatchOptions = {}): unknown {
  checkKinds('applyPatch()', options, { kinds: { maxOperations: 'number', maxCopied: 'number' } })
  const { maxOperations, maxCopied = DEFAULT_MAX_COPIED } = options
  if (Math.min(maxOperations ?? 0, maxCopied) < 0) {
    throw new ConfigurationError('applyPatch(): maxOperations and maxCopied are numbers of at least 0')
  }
  return finished(applyOperations(workingCopy(target), readOperations(operations, maxOperations), { maxCopied }))
}

interface Applying {
  readonly maxCopied: number
}

/** The same of a working copy, which is changed. */
export function applyOperations(
  root: unknown,
  operations: readonly PatchOperation[],
  { maxCopied }: Applying,
): unknown {
  const grows = operations.some(({ op }) => op !== 'test' && op !== 'remove')
  // what was there already may be as long as it is
  const most = grows ? Math.max(maxCopied, sizeOf(root, Number.POSITIVE_INFINITY)) : 0
  const deepest = grows ? Math.max(DEEPEST, depthOf(root, Number.POSITIVE_INFINITY)) : 0
  const document = { root, copied: 0, maxCopied, deepest }
  for (const [position, operation] of operations.entries()) {
    const problem = APPLY[operation.op](document, operation)
    if (problem) throw refusal(position, problem)
  }
  // once: a look at each operation would cost as much as all that it moves
  const problem = grows ? tooDeep(document, document.root) : undefined
  if (problem) throw refusal(operations.length - 1, problem)
  if (grows && sizeOf(document.root, most) > most) {
    throw refusal(operations.length - 1, { member: 'path', message: `Make at most ${most} characters.`, status: 400 })
  }
  return document.root
}

interface Document {
  root: unknown
  /** The most levels that it may have in the end. */
  readonly deepest: number
  /** Characters that were copied until now. */
  copied: number
  readonly maxCopied: number
}

/** What is wrong with an operation, and the member of it that says so. */
export interface Problem {
  readonly member: 'path' | 'from' | 'value'
  readonly message: string
  readonly status: 400 | 409
}

/** The most members among which a near name is looked for. */
const MOST_COMPARED = 200

function missing(member: 'path' | 'from', { root }: Document, pointer: Pointer): Problem {
  let at = root
  let step: string | undefined
  for (step of pointer) {
    const found = childAt(at, step)
    if (!found) break
    at = found.value
  }
  const names = isJsonObject(at) ? Object.keys(at).slice(0, MOST_COMPARED) : []
  return { member, message: `There is nothing at this place${didYouMean(step ?? '', names) || '.'}`, status: 409 }
}

const DIFFERENT: Problem = { member: 'value', message: 'The value is another one.', status: 409 }
const WHOLE: Problem = { member: 'path', message: 'The whole cannot be removed.', status: 400 }

const APPLY: Readonly<
  Record<PatchOperation['op'], (document: Document, operation: PatchOperation) => Problem | undefined>
> = {
  add: (document, { path, value }) => add(document, path, workingCopy(value)),
  remove: (document, { path }) => remove(document, path, 'path'),
  replace(document, { path, value }) {
    if (!valueAt(document.root, path)) return missing('path', document, path)
    return replace(document, path, workingCopy(value))
  },
  move(document, { path, from }) {
    const found = valueAt(document.root, from)
    if (!found) return missing('from', document, from)
    // to where it is already
    if (from.length === path.length && from.every((step, index) => step === path[index])) return undefined
    return remove(document, from, 'from') ?? add(document, path, found.value)
  },
  copy(document, { path, from }) {
    const found = valueAt(document.root, from)
    if (!found) return missing('from', document, from)
    const problem = tooDeep(document, found.value)
    if (problem) return problem
    document.copied += sizeOf(found.value, document.maxCopied - document.copied)
    if (document.copied > document.maxCopied) {
      return { member: 'from', message: `Copy at most ${document.maxCopied} characters.`, status: 400 }
    }
    return add(document, path, workingCopy(found.value))
  },
  test(document, { path, value }) {
    const found = valueAt(document.root, path)
    if (!found) return missing('path', document, path)
    return isEqual(found.value, value) ? undefined : DIFFERENT
  },
}

/** Levels of what operations make: more are no JSON that anybody reads. */
const DEEPEST = 1_000

function tooDeep({ deepest }: Document, value: unknown): Problem | undefined {
  if (depthOf(value, deepest) <= deepest) return undefined
  return { member: 'path', message: `Nested too deeply: at most ${deepest} levels.`, status: 400 }
}

/** Levels of arrays and objects, counted up to one more than there may be. */
function depthOf(value: unknown, left: number): number {
  if (typeof value !== 'object' || value === null || left < 0) return 0
  let most = 0
  for (const member of Object.values(value)) most = Math.max(most, depthOf(member, left - 1))
  return most + 1
}

/** A list gets an item more; a member is set, whether there is one or not. */
function add(document: Document, path: Pointer, value: unknown): Problem | undefined {
  const parent = valueAt(document.root, path.slice(0, -1))
  const step = path.at(-1)
  if (step === undefined) document.root = value
  else if (Array.isArray(parent?.value)) {
    const index = step === '-' ? parent.value.length : indexIn(step, parent.value.length + 1)
    if (index === undefined) return missing('path', document, path)
    parent.value.splice(index, 0, value)
  } else if (isJsonObject(parent?.value)) setMember(parent.value, step, value)
  else return missing('path', document, path)
  return undefined
}

/** Puts a value where there is one. */
function replace(document: Document, path: Pointer, value: unknown): undefined {
  const parent = valueAt(document.root, path.slice(0, -1))?.value
  const step = path.at(-1)
  if (step === undefined) document.root = value
  else if (Array.isArray(parent)) parent[Number(step)] = value
  else setMember(parent as Record<string, unknown>, step, value)
  return undefined
}

function remove(document: Document, path: Pointer, member: 'path' | 'from'): Problem | undefined {
  const step = path.at(-1)
  if (step === undefined) return WHOLE
  const parent = valueAt(document.root, path.slice(0, -1))?.value
  if (!childAt(parent, step)) return missing(member, document, path)
  if (Array.isArray(parent)) parent.splice(Number(step), 1)
  else delete (parent as Record<string, unknown>)[step]
  return undefined
}

/** The answer for an operation that cannot be applied. */
export function refusal(position: number, { member, message, status }: Problem): ApiError {
  const errors: ErrorMessages = { [position]: { [member]: [message] } }
  if (status === 400) return new ValidationError(errors)
  return new ApiError(409, 'The patch does not fit the object.', { errors })
}
