/** What is to be recorded of a write: the differences that it leaves between the rows before and after it. */
import type pg from 'pg'
import type { Application, Resource } from './application.js'
import { type Estate, type Level, parentOf, type Row } from './estate.js'
import { MODELS, type Models } from './estate-views.js'
import type { Question } from './expected.js'

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

/** What is recorded now, and is forgotten by it. */
export async function takeRecorded(client: pg.Client): Promise<readonly Change[]> {
  const { rows } = await client.query<Change & { readonly id: string }>(
    'with taken as (delete from koa_viewsets_changes returning *) select * from taken order by id',
  )
  return rows.map(({ model, key, action, caller, before, after }) => ({
    model,
    key,
    action,
    caller,
    before: sorted(before),
    after: sorted(after),
  }))
}

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
export function misrecorded({ models = MODELS }: Application, written: Written, recorded: readonly Change[]) {
  const told = (changes: readonly Change[]) =>
    changes
      .map((change) => JSON.stringify(change, (_, value) => (isPlain(value) ? inOrder(value) : value)))
      .toSorted()
      .join('\n')
  const [is, meant] = [told(recorded), told(expectedChanges(models, written))]
  return is === meant ? undefined : `recorded ${is}, expected ${meant}`
}

const isPlain = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const inOrder = (value: object) =>
  Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)))

function expectedChanges(models: Models, { question, before, after }: Written): readonly Change[] {
  const own = question.route.chain.at(-1) as Resource
  const { level, statics } = own
  if (!statics?.records) return []
  const ids = new Set([...before.rows[level].keys(), ...after.rows[level].keys()])
  return [...ids].flatMap((id) => {
    const isPurged = question.action === 'purgeDeleted'
    const [was, is] = [before, after].map((estate) => imageOf({ own, models, estate, isPurged }, id)) as [Image, Image]
    const isNamed = was === null || is !== null || namesOf(question).has(id)
    const key = keyOf(models, level, id) as number | string
    const action = was === null ? 'create' : is === null ? 'delete' : 'update'
    if (!isNamed || JSON.stringify(was) === JSON.stringify(is)) return []
    const caller = question.user === null ? null : String(question.user.id)
    return [{ model: level, key: String(key), action: actionOf(question) ?? action, caller, before: was, after: is }]
  })
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
  const { level, secret, method, shape } = own
  const row = estate.rows[level].get(id)
  if (!row || (row.isDeleted && !isPurged)) return null
  const { isDeleted: _, title, parent_id, ...rest }: Row = row
  const labels = [1, 2, 3].filter((label) => estate.labels.has(`${id} ${label}`))
  return {
    ...rest,
    id: keyOf(models, level, id),
    parent_id: keyOf(models, parentOf(level), parent_id),
    ...(secret !== 'title' && { title }),
    ...(level === 'papers' && { labels }),
    // what a queryset adds is none of the row's
    ...(shape.column && { [shape.column]: null }),
    ...(method === 'relation' && { owner: row.owner_id }),
  }
}

function keyOf(models: Models, level: Level, id: number | null): unknown {
  const { encodeId } = models[level] as { encodeId?(key: number): string }
  return id === null || !encodeId ? id : encodeId.call(models[level], id)
}
