/** What is to be recorded of a write: the differences that it leaves between the rows before and after it. */

import type pg from 'pg'
import type { Application, Resource } from './application.js'
import { belowOf, type Estate, type Level, parentOf, type Row } from './estate.js'
import { MODELS, type Models } from './estate-views.js'
import { keeps, type Question } from './expected.js'
import { INNER_FIELDS, isInside } from './nests.js'
import { FORMER_NAMES } from './statics.js'

/** A recorded change, or one that is to be recorded. */
interface Change {
  readonly model: string
  readonly key: string
  readonly action: string
  readonly caller: string | null
  readonly before: Image
  readonly after: Image
}

type Image = Readonly<Record<string, unknown>> | null

/** What was recorded behind a change. */
export async function recordedAfter(client: pg.Client, last: number): Promise<readonly Recorded[]> {
  const { rows } = await client.query<Recorded>('select * from koa_viewsets_changes where id > $1 order by id', [last])
  return rows.map(({ id, model, key, action, caller, before, after }) => ({
    id,
    model,
    key,
    action,
    caller,
    before: sorted(before),
    after: sorted(after),
  }))
}

export type Recorded = Change & { readonly id: string }

/** Lists of keys have no order. */
function sorted(image: Image): Image {
  const labels = image?.['labels']
  return Array.isArray(labels)
    ? { ...image, labels: (labels as number[]).toSorted((one, other) => one - other) }
    : image
}

interface Written {
  readonly question: Question
  readonly before: Estate
  readonly after: Estate
}

/** What is wrong with what was recorded, in words. */
export function misrecorded({ models = MODELS }: Application, written: Written, recorded: readonly Recorded[]) {
  const told = (changes: readonly Change[]) =>
    changes
      .map((change) => JSON.stringify(change, (_, value) => (isPlain(value) ? inOrder(value) : value)))
      .toSorted()
      .join('\n')
  const [is, meant] = [told(recorded.map(changeOf)), told(expectedChanges(models, written))]
  return is === meant ? undefined : `recorded ${is}, expected ${meant}`
}

const changeOf = ({ model, key, action, caller, before, after }: Recorded): Change => ({
  model,
  key,
  action,
  caller,
  before,
  after,
})
const isPlain = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const inOrder = (value: object) =>
  Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)))

function expectedChanges(models: Models, { question, before, after }: Written): readonly Change[] {
  const own = question.route.chain.at(-1) as Resource
  if (!own.statics?.records) return []
  const isPurged = question.action === 'purgeDeleted'
  const names = namesOf(question)
  // what goes with an object is recorded as far as it stands inside of it
  const isNamed = (level: Level, id: number): boolean => {
    const above = before.rows[level].get(id)?.parent_id
    return level === own.level ? names.has(id) : above != null && isNamed(parentOf(level), above)
  }
  const changesAt = (level: Level, imageAt: (estate: Estate, id: number) => Image) => {
    const ids = new Set([...before.rows[level].keys(), ...after.rows[level].keys()])
    return [...ids].flatMap((id) => {
      const [was, is] = [before, after].map((estate) => imageAt(estate, id)) as [Image, Image]
      const key = keyOf({ models, level, estates: [after, before] }, id) as number | string
      const action = was === null ? 'create' : is === null ? 'delete' : 'update'
      if ((was && !is && !isNamed(level, id)) || JSON.stringify(was) === JSON.stringify(is)) return []
      const caller = question.user === null ? null : String(question.user.id)
      const told = (level === own.level && actionOf(question)) || action
      return [{ model: level, key: String(key), action: told, caller, before: was, after: is }]
    })
  }
  const ofOwn = changesAt(own.level, (estate, id) => imageOf({ own, models, estate, isPurged }, id))
  const inner = innerLevels(own).flatMap((level) => {
    const { secret } = question.resources.find((resource) => resource.level === level) as Resource
    return changesAt(level, (estate, id) => innerImage({ models, level, estate, secret }, id))
  })
  return [...ofOwn, ...inner]
}

/** The levels of rows that stand inside of an object. */
function innerLevels({ level, nests }: Resource): readonly Level[] {
  const below = belowOf(level)
  const deeper = below && nests?.isDeep ? belowOf(below) : undefined
  const isPart = (way: string | undefined) => way === 'shown' || way === 'written'
  return [
    ...(isPart(nests?.parent) && level !== 'folders' ? [parentOf(level)] : []),
    ...(isPart(nests?.children) && below ? [below, ...(deeper ? [deeper] : [])] : []),
  ]
}

interface Inner {
  readonly models: Models
  readonly level: Level
  readonly estate: Estate
  readonly secret: Resource['secret']
}

/** A row as it is recorded by those that it stands inside of. */
function innerImage({ models, level, estate, secret }: Inner, id: number): Image {
  const row = estate.rows[level].get(id)
  if (!row || row.isDeleted) return null
  const shown = Object.fromEntries(INNER_FIELDS.map((name) => [name, row[name]]))
  const { title, ...rest } = { ...shown, id: keyOf({ models, level, estates: [estate] }, id) } as Record<
    string,
    unknown
  >
  return secret === 'title' ? rest : { ...rest, title }
}

const actionOf = ({ action }: Question) => ({ restoreDeleted: 'restore', purgeDeleted: 'purge' })[action as string]

/** The objects that the request names: what goes with them is not recorded. */
function namesOf({ ids, body, action }: Question): ReadonlySet<unknown> {
  return new Set(action === 'bulkDestroy' ? (body as readonly unknown[]) : [ids.at(-1)])
}

interface Place {
  readonly own: Resource
  readonly models: Models
  readonly estate: Estate
  /** What was marked before is recorded as it goes. */
  readonly isPurged: boolean
}

/** The row as it is recorded; null where there is none, or none that lives. */
function imageOf({ own, models, estate, isPurged }: Place, id: number): Image {
  const { level, secret, method, shape, nests } = own
  const row = estate.rows[level].get(id)
  if (!row || (row.isDeleted && !isPurged)) return null
  const { isDeleted: _, public_id: __, title, parent_id, ...rest }: Row = row
  const labels = [1, 2, 3].filter((label) => estate.labels.has(`${id} ${label}`))
  return {
    ...rest,
    id: keyOf({ models, level, estates: [estate] }, id),
    parent_id: keyOf({ models, level: parentOf(level), estates: [estate] }, parent_id),
    ...(secret !== 'title' && { title }),
    ...(level === 'papers' && { labels }),
    // what a queryset adds is none of the row's
    ...(shape.column && { [shape.column]: null }),
    ...(method === 'relation' && { owner: row.owner_id }),
    ...(isInside(nests, 'parent', undefined) && {
      parent: keyOf({ models, level: parentOf(level), estates: [estate] }, parent_id),
    }),
  }
}

interface Keyed {
  readonly models: Models
  readonly level: Level
  readonly estates: readonly Estate[]
}

/** What clients see of a key that is the same for all of them. */
function keyOf({ models, level, estates }: Keyed, id: number | null): unknown {
  const { encodeId, idConfig } = models[level] as Identified
  if (id === null || !encodeId) return id
  const row = estates.map((estate) => estate.rows[level].get(id)).find((found) => found !== undefined)
  return encodeId.call(models[level], idConfig?.mode === 'random' ? (row?.public_id as string) : id)
}

interface Identified {
  readonly idConfig?: { readonly mode: string }
  encodeId?(key: number | string): string
}

interface Told {
  readonly question: Question
  /** What was recorded since the tables were filled. */
  readonly past: readonly Recorded[]
}

/** What the history of an object is to say to a caller who sees it. */
export function expectedHistory({ models = MODELS }: Application, { question, past }: Told, estate: Estate) {
  const own = question.route.chain.at(-1) as Resource
  const { level } = own
  const key = String(keyOf({ models, level, estates: [estate] }, question.ids.at(-1) as number))
  const former = question.version === '1' && own.statics?.versions ? Object.keys(FORMER_NAMES) : []
  const kept = [
    keeps(question, own),
    ...(question.ruled.has(parentOf(level)) ? ['parent', 'parent_id'] : []),
    ...former,
  ]
  const shown = (image: Image) =>
    image && Object.fromEntries(Object.entries(image).filter(([name]) => !kept.includes(name)))
  return past
    .filter((change) => change.model === level && change.key === key)
    .toReversed()
    .slice(0, 25)
    .map(({ action, caller, before, after }) => ({ action, caller, before: shown(before), after: shown(after) }))
}
