/** What an application answers, and what it leaves stored: a model of the rules, in memory, that asks no database. */

import { byline, MASK, type Resource, type Route } from './application.js'
import { belowOf, type Estate, LEVELS, type Level, parentOf, type Row } from './estate.js'
import type { Writes } from './estate-views.js'
import { type Asked, admits, admitsObject, guardsObjects, type User } from './rules.js'
import { PAGE_SIZE } from './statics.js'
import {
  blankRow,
  isPartialWrite,
  nextId,
  PHASES,
  settled,
  settledId,
  shownInside,
  TreeWrite,
  type Written,
  withRow,
} from './trees.js'
import { type Condition, holds } from './visibility.js'

/** A request, as far as the rules know it. */
export interface Question {
  readonly route: Route
  readonly action: Action
  readonly method: string
  readonly user: User | null
  /** The objects on the path, the last one's own too where the action is one of an object. */
  readonly ids: readonly number[]
  readonly body: unknown
  readonly query: Readonly<Record<string, string>>
  /** Of which rows rules, or view sets of related objects, say who sees them wherever they are met. */
  readonly ruled: ReadonlyMap<Level, Condition>
  /** All resources of the application. */
  readonly resources: readonly Resource[]
  /** Related objects are those that their own view set shows. */
  readonly isRelated: boolean
  /** Whose rows have ids that stand in them. */
  readonly stored: ReadonlySet<Level>
  /** Where `If-Match` names the version that its sender has just read, or one that never was. */
  readonly match?: 'right' | 'wrong' | undefined
  /** Of the request, which is sent twice by it. */
  readonly key?: string
  /** The patch document that its body is sent as. */
  readonly patch?: PatchFormat | undefined
  /** The answer is to show nothing of what was written. */
  readonly isMinimal?: boolean
  /** The version that its view set answers in; 2 where it says none. */
  readonly version?: '1' | '2' | undefined
}

/** Media types of patch documents. */
export type PatchFormat = 'application/merge-patch+json' | 'application/json-patch+json'

export type Action =
  | 'list'
  | 'retrieve'
  | 'create'
  | 'update'
  | 'partialUpdate'
  | 'destroy'
  | 'bulkCreate'
  | 'bulkUpdate'
  | 'bulkDestroy'
  | 'bump'
  | 'metadata'
  | 'restoreDeleted'
  | 'purgeDeleted'

/** One way in which the request may be answered. */
export interface Answer {
  readonly status: number
  /** What is wrong with the body, in words. */
  readonly check?: (json: unknown, stored: Estate) => string | undefined
  /** What is to be stored afterwards, once it is: the same as before where it is left out. */
  readonly after?: (json: unknown, stored: Estate) => Estate
}

type Item = Readonly<Record<string, unknown>>

const TAKING: ReadonlySet<Action> = new Set(['create', 'update', 'partialUpdate', 'bulkCreate', 'bulkUpdate'])
const DETAIL: ReadonlySet<Action> = new Set([
  'retrieve',
  'update',
  'partialUpdate',
  'destroy',
  'bump',
  'restoreDeleted',
  'purgeDeleted',
])
const OF_MARKED: ReadonlySet<Action> = new Set(['restoreDeleted', 'purgeDeleted'])

/** Which answers are right. Where two rules refuse, and none says which of them is asked first, either may. */
export function expectedAnswers(question: Question, estate: Estate): readonly Answer[] {
  const own = question.route.chain.at(-1) as Resource
  const asked = { user: question.user, method: question.method, action: question.action }
  if (!own.rules.every((rule) => admits(rule, asked))) return [refusal(question.user)]
  if (question.action === 'metadata') return metadataAnswers(question, own, estate)
  const parents = parentRefusals(question, estate)
  if (asksForMarked(question, own) && !question.user?.isStaff) return [refusal(question.user), ...parents]
  if (parents.length > 0) {
    // a page that is not there is told as such
    const before = question.query['page'] === undefined ? [] : parents.map(({ status }) => ({ status }))
    return [...parents, ...before, ...(isWrong(question, estate) ? [{ status: 400 }] : [])]
  }
  if (!DETAIL.has(question.action)) return collectionAnswers(question, own, estate)
  const row = estate.rows[own.level].get(question.ids.at(-1) as number)
  if (!row || !isSeen(question, own, row, estate)) return [notFound]
  if (!own.rules.every((rule) => admitsObject(rule, asked, row))) return [refusal(question.user)]
  const answers = objectAnswers(question, own, row, estate)
  return question.isMinimal ? answers.map(withoutBody) : answers
}

/** A change whose answer shows nothing. */
function withoutBody(answer: Answer): Answer {
  return answer.status < 400 ? { ...answer, status: 204, check: isEmpty } : answer
}

const isEmpty = (json: unknown) => (json === undefined ? undefined : 'a body that is to have none')

const MOST_TRIES = 20

/** A question that is not refused, if a few tries have one. */
export function welcome(draw: () => Question, estate: Estate): Question {
  for (let tries = 1; ; tries++) {
    const question = draw()
    if (tries === MOST_TRIES || expectedAnswers(question, estate).some(({ status }) => status < 400)) return question
  }
}

const NOT_FOUND = JSON.stringify({ detail: 'Not found', status: 404 })
const notFound: Answer = {
  status: 404,
  check: (json) => (JSON.stringify(json) === NOT_FOUND ? undefined : `a 404 that tells more: ${JSON.stringify(json)}`),
}

/** By rules of rows and fields, whoever asks. */
const denied: Answer = { status: 403 }

const refusal = (user: User | null): Answer => ({ status: user ? 403 : 401 })

/** Whether it is about rows that are marked as deleted, which the staff alone may ask about. */
function asksForMarked({ action, query }: Question, { statics }: Resource): boolean {
  if (OF_MARKED.has(action)) return true
  return statics?.deletes === 'marks and tells' && (query['deleted'] === 'true' || query['deleted'] === 'only')
}

/** Whether the request is about rows like this, of those that are marked as deleted and those that are not. */
function isAbout(question: Question, own: Resource, { isDeleted = false }: Row): boolean {
  if (!asksForMarked(question, own)) return !isDeleted
  return question.query['deleted'] === 'true' || isDeleted
}

/** Whether the caller sees the row, below the object that the path has before it. */
function isSeen(question: Question, own: Resource, row: Row, estate: Estate): boolean {
  const { shape, condition, level } = own
  const { ids, action, route } = question
  if (!isAbout(question, own, row)) return false
  const before = DETAIL.has(action) ? ids.at(-2) : ids.at(-1)
  if (route.chain.length > 1 && row.parent_id !== before) return false
  return holdsFor(question, level, shape.sees(condition), row, estate)
}

export function holdsFor({ user }: Question, level: Level, condition: Condition, row: Row, estate: Estate): boolean {
  return holds(condition, row, { level, caller: user?.id ?? null }, estate) === true
}

/** What the objects on the path before the last refuse: each is asked as a GET of it is. */
function parentRefusals(question: Question, estate: Estate): Answer[] {
  const { route, ids, user } = question
  const refusals: Answer[] = []
  const asked: Asked = { user, method: 'GET', action: 'retrieve' }
  const writing = ['GET', 'HEAD', 'OPTIONS'].includes(question.method) ? asked : { ...asked, method: question.method }
  for (const [index, { level, shape, condition, rules }] of route.chain.slice(0, -1).entries()) {
    if (!rules.every((rule) => admits(rule, asked))) refusals.push(refusal(user))
    const row = estate.rows[level].get(ids[index] as number)
    const isBelow = index === 0 || row?.parent_id === ids[index - 1]
    if (!row || row.isDeleted || !isBelow || !holdsFor(question, level, shape.sees(condition), row, estate))
      refusals.push(notFound)
    else if (!rules.every((rule) => admitsObject(rule, asked, row))) refusals.push(refusal(user))
    // who may only read an object writes nothing below it
    else if (!rules.every((rule) => !guardsObjects(rule) || admitsObject(rule, writing, row))) {
      refusals.push(refusal(user))
    }
  }
  return refusals
}

const OF_COLLECTION = [['POST', 'create']] as const
const OF_OBJECT = [
  ['PUT', 'update'],
  ['PATCH', 'partialUpdate'],
] as const

function metadataAnswers(question: Question, own: Resource, estate: Estate): readonly Answer[] {
  const isObject = question.ids.length === question.route.chain.length
  const taken: readonly (readonly [string, Action])[] = isObject ? OF_OBJECT : OF_COLLECTION
  const isDescribed = taken.some(([method, action]) =>
    own.rules.every((rule) => admits(rule, { user: question.user, method, action })),
  )
  const check = (json: unknown) => {
    const { actions } = json as { actions?: { fields?: Record<string, unknown> } }
    if (isDescribed !== (actions !== undefined)) return `actions is ${isDescribed ? 'missing' : 'there'}`
    return actions && actions.fields?.['title'] === undefined ? 'actions.fields has no title' : undefined
  }
  // whether OPTIONS asks parents at all is nobody's promise
  return [{ status: 200, check }, ...parentRefusals(question, estate)]
}

function collectionAnswers(question: Question, own: Resource, estate: Estate): readonly Answer[] {
  const { action } = question
  if (action === 'list') return [listAnswer(question, own, estate)]
  if (action === 'create' || action === 'bulkCreate') {
    return createAnswers(question, own, estate)
  }
  const answers = bulkAnswers(question, own, estate)
  return question.isMinimal ? answers.map(withoutBody) : answers
}

/** What the body alone refuses. */
function refusalsOf(question: Question, own: Resource, estate: Estate): readonly Answer[] {
  const isSet = TAKING.has(question.action) && itemsOf(question).some((item) => setsSecret(question, own, item))
  return [...(isWrong(question, estate) ? [{ status: 400 }] : []), ...(isSet ? [denied] : [])]
}

const itemsOf = ({ body }: Question) => (Array.isArray(body) ? body : [body]) as readonly Item[]

/** The field that rules keep from the caller. */
export const keeps = ({ user }: Question, { secret }: Resource): string | undefined =>
  secret === 'none' || user?.isStaff === true ? undefined : secret

/** Whether the item sets a field that its sender may not set. */
function setsSecret(question: Question, own: Resource, item: Item): boolean {
  const name = keeps(question, own)
  return name !== undefined && item[name] !== undefined && item[name] !== MASK
}

/** True where something in the body is refused. */
function isWrong(question: Question, estate: Estate): boolean {
  return TAKING.has(question.action) && itemsOf(question).some((item) => problemOf(question, item, estate))
}

/** Whether the row may be changed, be deleted, or have become what it is. */
function mayWrite(question: Question, own: Resource, use: keyof Writes, row: Row, estate: Estate): boolean {
  if (!own.shape.isRule) return true
  return holdsFor(question, own.level, own.writes[use] ?? own.condition, row, estate)
}

/** Whether a write may leave the row as it is now. */
function mayResult(question: Question, own: Resource, use: keyof Writes, row: Row, estate: Estate): boolean {
  if (own.shape.isRule) return mayWrite(question, own, use, row, estate)
  return own.mayLeave || holdsFor(question, own.level, own.shape.sees(own.condition), row, estate)
}

/** Whether a rule hides from its writer what was written. */
function isUnread(question: Question, own: Resource, row: Row, estate: Estate): boolean {
  return own.shape.isRule === true && !holdsFor(question, own.level, own.condition, row, estate)
}

/** Whether something in the item is refused. */
function problemOf(question: Question, item: Item, estate: Estate): boolean {
  const { route, user, action, ids, ruled } = question
  const own = route.chain.at(-1) as Resource
  const { level, narrowsLabels } = own
  const isPartial = isPartialWrite(question)
  const id = action === 'bulkUpdate' ? item['id'] : DETAIL.has(action) ? ids.at(-1) : undefined
  // a PUT may leave out what it may not set
  const isKept = action === 'update' && keeps(question, own) === 'title'
  if (!isPartial && !isKept && item['title'] === undefined) return true
  if (item['n'] !== undefined && item['n'] !== null && typeof item['n'] !== 'number') return true
  if (item['owner_id'] === 999) return true
  if (route.chain.length === 1 && item['parent_id'] === 999) return true
  if (item['code'] !== undefined) {
    const others = [...estate.rows[level].values()].filter((row) => row.id !== id)
    if (others.some(({ code }) => code === item['code'])) return true
  }
  if (route.chain.length === 1 && typeof item['parent_id'] === 'number') {
    const isKept = estate.rows[level].get(id as number)?.parent_id === item['parent_id']
    if (!isKept && estate.rows[parentOf(level)].get(item['parent_id'])?.isDeleted) return true
  }
  const above = ruled.get(parentOf(level))
  if (route.chain.length === 1 && above && typeof item['parent_id'] === 'number') {
    const row = estate.rows[level].get(id as number)
    // of a parent that is not shown nobody knows that it is the same
    const isKept = row?.parent_id === item['parent_id'] && !hidesParent(question, own, row, estate)
    const parent = estate.rows[parentOf(level)].get(item['parent_id'])
    if (!isKept && !(parent && holdsFor(question, parentOf(level), above, parent, estate))) return true
  }
  const labels = level === 'papers' ? ((item['labels'] ?? []) as number[]) : []
  const isChoosable = (label: number) => label < 3 || !narrowsLabels || user?.isStaff === true
  // what is linked may stay
  return labels.some((label) => label > 3 || !(isChoosable(label) || estate.labels.has(`${String(id)} ${label}`)))
}

function listAnswer(question: Question, own: Resource, estate: Estate): Answer {
  const { query } = question
  const seen = listedRows(question, own, estate)
  const shown = (rows: readonly Row[]) => rows.map((row) => represent(question, own, row, estate))
  if (!own.isPaginated) return { status: 200, check: equals(shown(seen)) }
  if (own.statics?.pages === 'cursors') {
    return { status: 200, check: equals({ next: null, previous: null, results: shown(seen) }) }
  }
  const page = Number(query['page'] ?? 1)
  const pages = Math.max(1, Math.ceil(seen.length / PAGE_SIZE))
  const isOffset = own.statics?.pages === 'limits' || own.statics?.pages === 'headers'
  if (page > pages && !isOffset) return { status: 404 }
  const results = shown(seen.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE))
  const check = (json: unknown) => {
    const { next, previous, ...rest } = json as Record<string, unknown>
    if ((next !== null) !== page < pages) return `next is ${String(next)} on page ${page} of ${pages}`
    if ((previous !== null) !== page > 1) return `previous is ${String(previous)} on page ${page}`
    return equals({ count: seen.length, results })(rest)
  }
  return { status: 200, check }
}

/** The rows of a list, on all of its pages. */
function listedRows(question: Question, own: Resource, estate: Estate): readonly Row[] {
  return [...estate.rows[own.level].values()]
    .filter((row) => isSeen(question, own, row, estate))
    .filter((row) => !own.filter || holdsFor(question, own.level, own.filter, row, estate))
    .filter((row) => isAbove(question, own, row))
    .sort(orderOf(orderingOf(question, own)))
}

/** What a list shows on all of its pages, and what its rows hold. */
export function listedObjects(question: Question, estate: Estate) {
  const own = question.route.chain.at(-1) as Resource
  const rows = listedRows(question, own, estate)
  return { rows, objects: rows.map((row) => represent(question, own, row, estate)) }
}

/** Whether the row's number is as the client asks; who may not read it asks nothing. */
function isAbove(question: Question, own: Resource, { n }: Row): boolean {
  const asked = question.query['n__gte']
  return asked === undefined || keeps(question, own) === 'n' || (n !== null && n >= Number(asked))
}

/** The order of a list, as far as the caller may read it. */
function orderingOf(question: Question, own: Resource): readonly string[] {
  const usual =
    own.ordering.length === 0 && own.isPaginated && own.statics?.pages === 'cursors' ? ['-id'] : own.ordering
  return usual.filter((term) => term !== keeps(question, own))
}

function orderOf(ordering: readonly string[]) {
  return (one: Row, other: Row): number => {
    for (const term of [...ordering, 'id']) {
      const name = term.replace(/^-/, '') as 'id' | 'title'
      const sign = term.startsWith('-') ? -1 : 1
      if (one[name] !== other[name]) return one[name] < other[name] ? -sign : sign
    }
    return 0
  }
}

/** The row as its serializer shows it. */
function represent(question: Question, own: Resource, row: Row, estate: Estate): Item {
  const { user, query, action } = question
  const kept = keeps(question, own)
  const { level, method, shape } = own
  const { isDeleted: _, public_id: __, code, ...columns } = row
  const owner = row.owner_id === null ? undefined : estate.people.get(row.owner_id)
  const shown: Record<string, unknown> = {
    ...columns,
    ...(hidesParent(question, own, row, estate) && { parent_id: null }),
    ...(own.statics && { code }),
    ...(level === 'papers' && { labels: labelsOf(row.id, estate) }),
    ...(shape.column && { [shape.column]: grantsOf(level, row.id, estate) }),
    ...(method === 'relation' && { owner: owner ? { id: owner.id, name: owner.name } : null }),
    ...(method !== 'none' && {
      byline: byline({ title: row.title, ...(method === 'relation' && owner && { owner }) }, user?.id ?? null),
    }),
  }
  if (kept === 'title') shown['title'] = MASK
  if (kept === 'n') delete shown['n']
  const asked = action === 'metadata' ? undefined : query['fields']?.split(',')
  const related = shownInside(question, own, row, estate)
  // what is asked for is shown beside the fields that are named
  const isAsked = (name: string) => asked?.includes(name) !== false || own.nests?.[name as 'parent'] === 'expandable'
  return Object.fromEntries(Object.entries({ ...shown, ...related }).filter(([name]) => isAsked(name)))
}

/** Whether the id of the row's parent stands in a row that a rule keeps from the caller. */
function hidesParent(question: Question, { level }: Resource, { parent_id }: Row, estate: Estate): boolean {
  const above = parentOf(level)
  const parent = parent_id === null ? undefined : estate.rows[above].get(parent_id)
  return parent !== undefined && question.stored.has(above) && !isMet(question, above, parent, estate)
}

/** Whether the caller sees the row where it is related to another. */
export function isMet(question: Question, level: Level, row: Row, estate: Estate): boolean {
  const condition = question.ruled.get(level)
  if (question.isRelated && row.isDeleted) return false
  return !condition || holdsFor(question, level, condition, row, estate)
}

const labelsOf = (id: number, { labels }: Estate) => [1, 2, 3].filter((label) => labels.has(`${id} ${label}`))
const grantsOf = (level: Level, id: number, { grants }: Estate) =>
  [...grants[level]].filter((grant) => grant.startsWith(`${id} `)).length

function objectAnswers(question: Question, own: Resource, row: Row, estate: Estate): readonly Answer[] {
  const { action, body, match } = question
  const { level } = own
  if (action === 'retrieve') return [{ status: 200, check: equals(represent(question, own, row, estate)) }]
  const use = action === 'destroy' || action === 'purgeDeleted' ? 'delete' : 'update'
  const failed: Answer[] = [
    ...(mayWrite(question, own, use, row, estate) ? [] : [denied]),
    ...(match === 'wrong' ? [{ status: 412 }] : []),
  ]
  if (action === 'purgeDeleted') {
    return failed.length > 0 ? failed : [{ status: 204, after: () => withoutRow(estate, level, row.id) }]
  }
  if (action === 'destroy') {
    if (failed.length > 0) return failed
    const after = () => withoutObject(estate, own, row.id)
    if (own.statics?.destroys !== 200) return [{ status: 204, after }]
    return [{ status: 200, check: equals(represent(question, own, row, estate)), after }]
  }
  if (action === 'restoreDeleted') {
    if (failed.length > 0) return failed
    const after = withRow(estate, level, { ...row, isDeleted: false })
    return [{ status: 200, check: equals(represent(question, own, row, estate)), after: () => after }]
  }
  if (action === 'bump') {
    if (failed.length > 0) return failed
    const after = withRow(estate, level, { ...row, n: (row.n ?? 0) + 1 })
    return [{ status: 200, check: equals({ n: (row.n ?? 0) + 1 }), after: () => after }]
  }
  const inside = new Set<number>()
  const meant = changed({ question, own, start: estate, refusals: inside }, row, body as Item, estate)
  const refusals = [...refusalsOf(question, own, estate), ...failed, ...[...inside].map((status) => ({ status }))]
  if (refusals.length > 0) return refusals
  const written = meant.rows[level].get(row.id) as Row
  const after = (_: unknown, stored: Estate) => settled(meant, stored)
  if (!mayResult(question, own, 'update', written, meant)) return [denied]
  if (isUnread(question, own, written, meant)) return [{ status: 204, after }]
  const check = (json: unknown, stored: Estate) =>
    equals(shownAfter(question, own, row.id, settled(meant, stored)))(json)
  return [{ status: 200, check, after }]
}

const shownAfter = (question: Question, own: Resource, id: number, estate: Estate) =>
  representWritten(question, own, estate.rows[own.level].get(id) as Row, estate)

/** What an answer to a write shows; what the queryset adds is known of rows that it still has. */
function representWritten(question: Question, own: Resource, row: Row, estate: Estate): Item {
  const shown = { ...represent(question, own, row, estate) }
  const isStillSeen = holdsFor(question, own.level, own.shape.sees(own.condition), row, estate)
  if (!isStillSeen && own.shape.column) shown[own.shape.column] = ANYTHING
  return shown
}

function bulkAnswers(question: Question, own: Resource, estate: Estate): readonly Answer[] {
  const { action, body, user, method } = question
  const { level } = own
  const items = body as readonly unknown[]
  const keys = items.map((item) => (typeof item === 'object' ? (item as Item)['id'] : item) as number)
  const errors: Record<string, unknown> = {}
  for (const [index, key] of keys.entries()) {
    const row = estate.rows[level].get(key)
    if (!row || !isSeen(question, own, row, estate))
      errors[index] = { id: [`Invalid pk "${key}" - object does not exist.`] }
    else if (keys.indexOf(key) < index) errors[index] = { id: [`Invalid pk "${key}" - listed more than once.`] }
  }
  if (Object.keys(errors).length > 0) {
    return [{ status: 400, check: equals({ detail: 'Validation failed', status: 400, errors }) }]
  }
  const rows = keys.map((key) => estate.rows[level].get(key) as Row)
  const asked = { user, method, action }
  const use = action === 'bulkDestroy' ? 'delete' : 'update'
  const denials = [
    ...(rows.every((row) => own.rules.every((rule) => admitsObject(rule, asked, row))) ? [] : [refusal(user)]),
    ...(rows.every((row) => mayWrite(question, own, use, row, estate)) ? [] : [denied]),
  ]
  if (denials.length > 0) return denials
  if (action === 'bulkDestroy') {
    const after = keys.reduce((left, key) => withoutObject(left, own, key), estate)
    return [{ status: 200, check: equals({ deleted: keys }), after: () => after }]
  }
  const inside = new Set<number>()
  const write = { question, own, start: estate, refusals: inside }
  const meant = rows.reduce((left, row, index) => changed(write, row, items[index] as Item, left), estate)
  const refusals = [...refusalsOf(question, own, estate), ...[...inside].map((status) => ({ status }))]
  if (refusals.length > 0) return refusals
  const written = keys.map((key) => meant.rows[level].get(key) as Row)
  const after = (_: unknown, stored: Estate) => settled(meant, stored)
  if (!written.every((row) => mayResult(question, own, 'update', row, meant))) return [denied]
  if (written.some((row) => isUnread(question, own, row, meant))) return [{ status: 204, after }]
  const check = (json: unknown, stored: Estate) =>
    equals(keys.map((key) => shownAfter(question, own, key, settled(meant, stored))))(json)
  return [{ status: 200, check, after }]
}

function createAnswers(question: Question, own: Resource, estate: Estate): readonly Answer[] {
  const { level } = own
  const items = (Array.isArray(question.body) ? question.body : [question.body]) as readonly Item[]
  const isList = question.action === 'bulkCreate'
  const status = isList ? 201 : (own.statics?.creates ?? 201)
  const inside = new Set<number>()
  const ids: number[] = []
  const meant = items.reduce((left, item) => {
    const row = blankRow(nextId(PHASES.own, level, left))
    ids.push(row.id)
    return changed({ question, own, start: estate, refusals: inside }, row, item, withRow(left, level, row))
  }, estate)
  const refusals = [...refusalsOf(question, own, estate), ...[...inside].map((refused) => ({ status: refused }))]
  if (refusals.length > 0) return refusals
  const made = ids.map((id) => meant.rows[level].get(id) as Row)
  if (!made.every((row) => mayResult(question, own, 'create', row, meant))) return [denied]
  const after = (_: unknown, stored: Estate) => settled(meant, stored)
  if (question.isMinimal || made.some((row) => isUnread(question, own, row, meant))) {
    return [{ status: status === 200 ? 204 : status, check: isEmpty, after }]
  }
  const check = (json: unknown, stored: Estate) => {
    const known = settled(meant, stored)
    const shown = ids.map((id) => shownAfter(question, own, settledId(meant, stored, { level, id }), known))
    return equals(isList ? shown : shown[0])(json)
  }
  return [{ status, check, after }]
}

interface Write extends Written {
  readonly own: Resource
}

/** The estate once the item's values are in the row. */
function changed(write: Write, row: Row, item: Item, estate: Estate): Estate {
  const { question, own } = write
  const { level, narrowsLabels, nests } = own
  const { route, ids, action } = question
  const isNew = row.id < 0
  const has = (name: string) => item[name] !== undefined
  const values = Object.fromEntries(
    ['owner_id', 'open', 'archived', 'n', 'title', 'code'].filter(has).map((name) => [name, item[name]]),
  )
  const before = DETAIL.has(action) ? ids.at(-2) : ids.at(-1)
  const tree = new TreeWrite(write, estate)
  // null is what is shown of a parent that is kept from the caller
  const isKept = item['parent_id'] === null && hidesParent(question, own, row, estate)
  const given = has('parent_id') && !isKept ? { parent_id: item['parent_id'] } : {}
  const isNested = nests?.parent === 'written' && has('parent') && route.chain.length === 1
  const nested = isNested && { parent_id: tree.parent(own, row, isNew, item['parent'] as Item | null) }
  const parent = route.chain.length > 1 ? { parent_id: before as number } : { ...given, ...nested }
  tree.estate = withRow(tree.estate, level, { ...row, ...values, ...parent } as Row)
  const below = belowOf(level)
  if (below && nests?.children === 'written' && has('children')) {
    tree.children(below, { id: row.id, isNew, phase: PHASES.children }, item['children'] as readonly Item[])
  }
  const next = tree.estate
  if (level !== 'papers' || !has('labels')) return next
  const isChoosable = (label: number) => !narrowsLabels || question.user?.isStaff === true || label < 3
  const kept = [...next.labels].filter((link) => {
    const [paper, label] = link.split(' ').map(Number) as [number, number]
    return paper !== row.id || !isChoosable(label)
  })
  const chosen = (item['labels'] as number[]).map((label) => `${row.id} ${label}`)
  return { ...next, labels: new Set([...kept, ...chosen]) }
}

/** Without the object: its row is marked, or goes. */
function withoutObject(estate: Estate, { level, statics }: Resource, id: number): Estate {
  const row = estate.rows[level].get(id)
  if (statics === undefined || statics.deletes === 'removes' || !row) return withoutRow(estate, level, id)
  return withRow(estate, level, { ...row, isDeleted: true })
}

/** Without the row, and all that goes with it. */
function withoutRow(estate: Estate, level: Level, id: number): Estate {
  const rows = new Map(estate.rows[level])
  rows.delete(id)
  const isOther = (link: string) => !link.startsWith(`${id} `)
  let left: Estate = {
    ...estate,
    rows: { ...estate.rows, [level]: rows },
    grants: { ...estate.grants, [level]: new Set([...estate.grants[level]].filter(isOther)) },
    labels: level === 'papers' ? new Set([...estate.labels].filter(isOther)) : estate.labels,
  }
  for (const below of LEVELS) {
    if (parentOf(below) !== level) continue
    for (const row of left.rows[below].values()) if (row.parent_id === id) left = withoutRow(left, below, row.id)
  }
  return left
}

/** Stands for any value. */
const ANYTHING = Symbol('anything')

export function equals(expected: unknown) {
  return (json: unknown): string | undefined => {
    const [is, meant] = [canonical(json, expected), canonical(expected, expected)]
    return is === meant ? undefined : `is ${is}, expected ${meant}`
  }
}

/** JSON with sorted keys and sorted labels; where anything may stand, it is left out. */
function canonical(value: unknown, expected: unknown): string {
  return JSON.stringify(settle(value, expected))
}

function settle(value: unknown, expected: unknown): unknown {
  if (Array.isArray(value))
    return value.map((item, index) => settle(item, Array.isArray(expected) ? expected[index] : undefined))
  if (typeof value !== 'object' || value === null) return value
  const meant = (typeof expected === 'object' && expected !== null ? expected : {}) as Record<string, unknown>
  const entries = Object.entries(value)
    .filter(([name]) => meant[name] !== ANYTHING)
    .map(([name, part]): [string, unknown] => [
      name,
      name === 'labels' && Array.isArray(part)
        ? (part as number[]).toSorted((one, other) => one - other)
        : settle(part, meant[name]),
    ])
  return Object.fromEntries(entries.sort(([one], [other]) => (one < other ? -1 : 1)))
}

/** The estate as a text, the same for the same rows. */
export function textOf({ rows, grants, labels }: Estate): string {
  return JSON.stringify([
    LEVELS.map((level) =>
      [...rows[level].values()].sort((one, other) => one.id - other.id).map((row) => settle(row, row)),
    ),
    LEVELS.map((level) => [...grants[level]].sort()),
    [...labels].sort(),
  ])
}
