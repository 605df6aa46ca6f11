/** Random JSON patches of random values: the same result as fast-json-patch, or a refusal by both; bodies of noise never fail within. */
import jsonPatch, { type Operation } from 'fast-json-patch'
import { applyPatch, JsonPatchParser, MergePatchParser, mergePatch } from 'koa-viewsets/patches'
import { describe, expect, it } from 'vitest'
import { ApiError, type Parsers } from '../../lib/index.js'
import {
  database,
  ItemViewSet,
  storedItem,
  storeItem,
  useItems,
  WholeItemSerializer,
} from '../support/patched-items.js'
import { connectTo } from '../support/server.js'
import { serveViews } from '../support/views.js'
import { Random } from './support/random.js'
import { report, seed, size } from './support/size.js'

const PATCHES = size(200, 100_000)
const BODIES = size(30, 5_000)
const NAMES = ['a', 'b', 'c/d', 'e~f', '', '0', '~1', 'length', 'toString']
const SCALARS = [null, true, false, 0, 1, -1.5, '', 'x', 'ä', 'a/b']

function randomValue(random: Random, depth = 0): unknown {
  const kind = depth > 3 ? 0 : random.below(4)
  if (kind === 0) return random.pick(SCALARS)
  const length = random.below(4)
  if (kind === 1) return Array.from({ length }, () => randomValue(random, depth + 1))
  return Object.fromEntries(random.some(NAMES, 0.3).map((name) => [name, randomValue(random, depth + 1)]))
}

/** A pointer into the value most often, and at times beside it. */
function randomPointer(random: Random, value: unknown): string {
  const isContainer = typeof value === 'object' && value !== null
  if (random.chance(isContainer ? 0.15 : 0.95)) return ''
  const names = isContainer ? Object.keys(value) : []
  const isKnown = names.length > 0 && random.chance(0.85)
  const others = Array.isArray(value) ? ['-', String(value.length), '01', 'length'] : NAMES
  const name = isKnown ? random.pick(names) : random.pick(others)
  const inner = isKnown ? randomPointer(random, (value as Record<string, unknown>)[name]) : ''
  return `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}${inner}`
}

function randomOperation(random: Random, value: unknown): Operation {
  const path = randomPointer(random, value)
  const from = randomPointer(random, value)
  const op = random.pick(['add', 'remove', 'replace', 'move', 'copy', 'test'] as const)
  if (op === 'remove') return { op, path }
  if (op === 'move' || op === 'copy') return { op, path, from }
  const isSame = op === 'test' && random.chance(0.7)
  return { op, path, value: isSame ? valueAt(value, path) : randomValue(random) }
}

function valueAt(value: unknown, path: string): unknown {
  try {
    return structuredClone(jsonPatch.getValueByPointer(value, path) as unknown) ?? null
  } catch {
    return null
  }
}

/** What fast-json-patch makes of it; undefined for a refusal. */
function oracle(target: unknown, operations: readonly Operation[]): { value: unknown } | undefined {
  try {
    const document = structuredClone(target)
    const { newDocument } = jsonPatch.applyPatch(document, structuredClone(operations), true, true, false)
    return { value: newDocument }
  } catch {
    return undefined
  }
}

function ours(target: unknown, operations: readonly Operation[]): { value: unknown } | undefined {
  try {
    return { value: applyPatch(target, operations) }
  } catch (error) {
    if (error instanceof ApiError && (error.status === 400 || error.status === 409)) return undefined
    throw error
  }
}

/** The steps of a pointer. */
function stepsOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** True for a member or an item that is there. */
function has(value: unknown, step: string): boolean {
  if (Array.isArray(value)) return /^(?:0|[1-9]\d*)$/.test(step) && Number(step) < value.length
  return typeof value === 'object' && value !== null && Object.hasOwn(value, step)
}

/** What stands around the place of a pointer; undefined where there is nothing. */
function parentAt(value: unknown, pointer: string): unknown {
  let found = value
  for (const step of stepsOf(pointer).slice(0, -1)) {
    if (!has(found, step)) return undefined
    found = (found as Record<string, unknown>)[step]
  }
  return found
}

/** Where fast-json-patch is not of RFC 6902's opinion. */
function isDisputed(document: unknown, operation: Operation): boolean {
  const { op, path } = operation
  const from = 'from' in operation ? operation.from : undefined
  const parent = parentAt(document, path)
  const last = stepsOf(path).at(-1)
  // it removes the whole, and takes null for it
  if (last === undefined && op === 'remove') return true
  // it takes what is not there
  if (from !== undefined && from !== '' && !has(parentAt(document, from), stepsOf(from).at(-1) as string)) return true
  // it takes a value for a part of itself
  if (op === 'move' && from !== undefined && (path.startsWith(`${from}/`) || from === '')) return true
  if (last === undefined) return false
  // it takes members of texts and numbers
  if (typeof parent !== 'object' || parent === null) return true
  // it takes a list to be as long as it was before the item was taken out of it
  if (op === 'move' && Array.isArray(parent) && last === String(parent.length)) return true
  // it takes what was there before the item was taken out of a list for what is there now
  const list = from?.slice(0, from.lastIndexOf('/') + 1)
  if (op === 'move' && list !== undefined && Array.isArray(parentAt(document, from ?? '')) && path.startsWith(list)) {
    if (stepsOf(path).length > stepsOf(list).length) return true
  }
  // it takes the end of a list, members of it that are no items, and what all objects have
  if (op === 'add' || op === 'move' || op === 'copy') return Array.isArray(parent) && !/^(?:-|0|[1-9]\d*)$/.test(last)
  return !has(parent, last) && (Array.isArray(parent) || last in parent)
}

describe('[RFC 6902] random patches', () => {
  it('make of random values what fast-json-patch makes of them', { timeout: 30_000 + PATCHES * 5 }, () => {
    const random = new Random(seed)
    const counts = { applied: 0, refused: 0, disputed: 0 }
    for (let round = 0; round < PATCHES; round++) {
      const before = randomValue(random)
      const operations: Operation[] = []
      // each is made for what the ones before have left
      let target: { value: unknown } | undefined = { value: before }
      for (let count = random.below(5) + 1; count > 0 && target; count--) {
        const operation = randomOperation(random, target.value)
        const next = ours(target.value, [operation])
        if (isDisputed(target.value, operation)) {
          counts.disputed++
          continue
        }
        operations.push(operation)
        target = next
      }
      const found = ours(before, operations)
      const expected = oracle(before, operations)
      expect({ seed, before, operations, found }).toEqual({ seed, before, operations, found: expected })
      counts[found ? 'applied' : 'refused']++
    }
    report('JSON patches against fast-json-patch', { seed, ...counts })
    expect(counts.applied).toBeGreaterThan(PATCHES / 4)
    expect(counts.refused).toBeGreaterThan(PATCHES / 20)
  })

  it('that tell two values apart lead from the one to the other', () => {
    const random = new Random(seed)
    for (let round = 0; round < PATCHES; round++) {
      const [one, other] = [{ root: randomValue(random) }, { root: randomValue(random) }]
      expect(applyPatch(one, jsonPatch.compare(one, other))).toEqual(other)
    }
  })
})

it('[RFC 7396] random merge patches make what the pseudo-code of its section 2 makes', () => {
  const random = new Random(seed)
  const pseudoCode = (target: unknown, patch: unknown): unknown => {
    if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
    const isObject = typeof target === 'object' && target !== null && !Array.isArray(target)
    const result = new Map<string, unknown>(isObject ? Object.entries(target) : [])
    for (const [name, value] of Object.entries(patch)) {
      if (value === null) result.delete(name)
      else result.set(name, pseudoCode(result.get(name), value))
    }
    return Object.fromEntries(result)
  }
  for (let round = 0; round < PATCHES; round++) {
    const [target, patch] = [randomValue(random), randomValue(random)]
    expect(mergePatch(target, patch)).toEqual(pseudoCode(target, patch))
  }
})

describe('random bodies', () => {
  useItems()

  it('are answered, never by 5xx, and what is refused has written nothing', {
    timeout: 30_000 + BODIES * 50,
  }, async () => {
    class Items extends ItemViewSet {
      static override serializerClass = WholeItemSerializer
      static override parserClasses: Parsers = [MergePatchParser, JsonPatchParser]
    }
    const random = new Random(seed)
    const client = await serveViews({ items: Items })
    await database.knex('places').insert({ name: 'Bern', info: {} })
    const path = await storeItem({ meta: { a: 1 }, secret: { b: 1 }, place_id: 1 })
    await database.knex('parts').insert({ item_id: 1, label: 'x', info: {} })
    const statuses = new Map<number, number>()
    const rows = async () => [
      await storedItem(path),
      await database.knex('places').orderBy('id'),
      await database.knex('parts').orderBy('id'),
    ]
    for (let round = 0; round < BODIES; round++) {
      const shown = (await client.get(path)).json as { meta: unknown; place: { info: unknown } | null }
      const within = { meta: shown.meta, note: null, ...(shown.place && { place: { info: shown.place.info } }) }
      const isMerge = random.chance(0.3)
      const patch = isMerge
        ? Object.fromEntries(
            random
              .some(Object.keys(random.chance(0.8) ? within : shown), 0.3)
              .map((name) => [name, randomValue(random)]),
          )
        : Array.from({ length: random.below(3) + 1 }, () =>
            randomOperation(random, random.chance(0.8) ? within : shown),
          )
      const text = JSON.stringify(patch)
      const at = random.below(text.length)
      const body = random.chance(0.2)
        ? text.slice(0, at) + random.pick(['"', '{', ']', '', '9']) + text.slice(at + 1)
        : text
      const before = await rows()
      const type = isMerge ? 'application/merge-patch+json' : 'application/json-patch+json'
      const { status } = await connectTo(client.port).send({
        method: 'PATCH',
        path,
        body,
        headers: { 'Content-Type': type },
      })
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      expect([seed, round, body, status < 500]).toEqual([seed, round, body, true])
      if (status !== 200) expect(await rows()).toEqual(before)
    }
    report('random patch documents', { seed, ...Object.fromEntries(statuses) })
    expect(client.reported).toEqual([])
    expect(statuses.get(200)).toBeGreaterThan(BODIES / 20)
  })
})
