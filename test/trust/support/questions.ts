/** Requests by chance to an application by chance, and rows to ask about. */
import type pg from 'pg'
import type { Application, Resource } from './application.js'
import { type Estate, LEVELS, type Level, parentOf } from './estate.js'
import { type Action, keeps, type PatchFormat, type Question } from './expected.js'
import type { Random } from './random.js'
import type { User } from './rules.js'
import { all } from './visibility.js'

const PEOPLE = 4
const CALLERS: readonly (User | null)[] = [
  null,
  { id: 1, isStaff: false },
  { id: 2, isStaff: false },
  { id: 3, isStaff: true },
]
const ROWS: Readonly<Record<Level, number>> = { folders: 5, papers: 7, remarks: 7 }

/** Random rows in all tables, in place of those there are. */
export async function plant(random: Random, client: pg.Client): Promise<void> {
  const person = () => random.pick(['null', '1', '1', '2', '3', '4'])
  const rowOf = (level: Level) => (_: unknown, index: number) => {
    const parents = level === 'folders' ? index : ROWS[parentOf(level)]
    const parent = parents === 0 || random.chance(0.1) ? 'null' : 1 + random.below(parents)
    const n = random.pick(['null', '1', '3', '7'])
    const title = `'${level} ${random.pick(['a', 'b', 'c'])}'`
    return `(${parent}, ${person()}, ${random.chance(0.5)}, ${random.chance(0.3)}, ${n}, ${title})`
  }
  const links = (table: string, count: number, others: number) => {
    const pairs = new Set(
      Array.from({ length: count }, () => `(${1 + random.below(count)}, ${1 + random.below(others)})`),
    )
    return `insert into ${table} values ${[...pairs].join(', ')};`
  }
  await client.query(`
    delete from people; delete from folders; delete from papers; delete from remarks;
    ${[...LEVELS, 'people'].map((table) => `alter sequence ${table}_id_seq restart;`).join('')}
    insert into people (name, active) values ${Array.from({ length: PEOPLE }, (_, index) => `('person ${index + 1}', ${random.chance(0.6)})`).join(', ')};
    ${LEVELS.map((level) => {
      const rows = Array.from({ length: ROWS[level] }, rowOf(level))
      return `insert into ${level} (parent_id, owner_id, open, archived, n, title) values ${rows.join(', ')};
        ${links(`${level}_grants`, ROWS[level], PEOPLE)}`
    }).join('')}
    ${links('papers_labels', ROWS.papers, 3)}`)
}

const ACTIONS: Readonly<Record<Action, string>> = {
  list: 'GET',
  retrieve: 'GET',
  create: 'POST',
  update: 'PUT',
  partialUpdate: 'PATCH',
  destroy: 'DELETE',
  bulkCreate: 'POST',
  bulkUpdate: 'PATCH',
  bulkDestroy: 'DELETE',
  bump: 'POST',
  metadata: 'OPTIONS',
  restoreDeleted: 'POST',
  purgeDeleted: 'DELETE',
}
const OF_MARKED: readonly Action[] = ['restoreDeleted', 'purgeDeleted']
const NAMES = (Object.keys(ACTIONS) as Action[]).filter((name) => !OF_MARKED.includes(name))
/** Those that take away what others could be asked about come less often. */
const OFTEN: readonly Action[] = [
  ...NAMES,
  'list',
  'list',
  'retrieve',
  'retrieve',
  'update',
  'partialUpdate',
  'bump',
  'create',
]
const WRITING_OBJECTS: ReadonlySet<Action> = new Set(['update', 'partialUpdate', 'destroy', 'bump'])
const OF_OBJECT: ReadonlySet<Action> = new Set(['retrieve', 'update', 'partialUpdate', 'destroy', 'bump'])

/** A request by chance. Most of what it names is there. */
export function randomQuestion(
  random: Random,
  { routes, resources, isRelated = false }: Application,
  estate: Estate,
): Question {
  const route = random.pick(routes)
  const own = route.chain.at(-1) as Resource
  const action = random.pick(OFTEN.filter((name) => own.isAtomic || name !== 'bump'))
  const ids = randomIds(random, route.chain, estate)
  const isObject = OF_OBJECT.has(action) || (action === 'metadata' && random.chance(0.5))
  return {
    route,
    action,
    method: ACTIONS[action] === 'GET' && random.chance(0.1) ? 'HEAD' : ACTIONS[action],
    user: random.pick(CALLERS),
    ids: isObject ? ids : ids.slice(0, -1),
    body: randomBody(random, own, action, estate),
    query: randomQuery(random, own, action),
    ruled: new Map(
      resources.flatMap(({ level, shape, condition, filter }) => {
        const seen = shape.sees(condition)
        // of related objects those are there that a list would have
        if (isRelated) return [[level, filter ? all(seen, filter) : seen] as const]
        return shape.isRule ? [[level, seen] as const] : []
      }),
    ),
    resources,
    isRelated,
    stored: new Set(resources.flatMap(({ level, statics }) => (statics?.ids === 'stored' ? [level] : []))),
    ...(WRITING_OBJECTS.has(action) && {
      match: random.pick([undefined, undefined, undefined, 'right', 'wrong'] as const),
    }),
  }
}

function randomIds(random: Random, chain: readonly Resource[], estate: Estate): number[] {
  const anyId = (level: Level) => random.pick([...estate.rows[level].keys(), 999])
  const ids: number[] = []
  for (const { level } of chain.toReversed()) {
    const below = chain[chain.length - ids.length]
    const child = below && ids[0] !== undefined ? estate.rows[below.level].get(ids[0]) : undefined
    const isRight = child?.parent_id != null && !random.chance(0.1)
    ids.unshift(isRight ? child.parent_id : anyId(level))
  }
  return ids
}

function randomQuery(random: Random, own: Resource, action: Action): Record<string, string> {
  const shown = ['parent_id', 'title', 'n', 'owner_id', ...(own.method === 'none' ? [] : ['byline', 'byline'])]
  return {
    ...(action !== 'destroy' &&
    action !== 'bulkDestroy' &&
    action !== 'metadata' &&
    action !== 'bump' &&
    random.chance(0.25)
      ? { fields: ['id', ...new Set(random.some(shown))].join(',') }
      : {}),
    ...(action === 'list' && random.chance(0.2) && { n__gte: '3' }),
    ...(action === 'list' && own.isPaginated && random.chance(0.4) && { page: String(1 + random.below(3)) }),
  }
}

function randomItem(random: Random, { level }: Resource, isWhole: boolean, estate: Estate): Record<string, unknown> {
  const folder = random.pick([null, ...estate.rows[parentOf(level)].keys(), ...(random.chance(0.1) ? [999] : [])])
  const all = {
    title: `written ${random.below(100)}`,
    n: random.chance(0.04) ? 'x' : random.pick([null, 2, 6]),
    open: random.chance(0.5),
    archived: random.chance(0.3),
    owner_id: random.chance(0.03) ? 999 : random.pick([null, 1, 2, 3]),
    parent_id: folder,
    ...(level === 'papers' && { labels: random.some([1, 2, 3], 0.3) }),
  }
  const names = Object.keys(all).filter((name) => isWhole || random.chance(name === 'parent_id' ? 0.1 : 0.4))
  const kept = random.chance(0.04) ? names.filter((name) => name !== 'title') : names
  return Object.fromEntries(kept.map((name) => [name, all[name as keyof typeof all]]))
}

function randomBody(random: Random, own: Resource, action: Action, estate: Estate): unknown {
  const item = (isWhole: boolean) => randomItem(random, own, isWhole, estate)
  const few = 1 + random.below(3)
  const ids = Array.from({ length: few }, () => random.pick([...estate.rows[own.level].keys(), 999]))
  switch (action) {
    case 'create':
    case 'update':
      return item(true)
    case 'partialUpdate':
      return item(false)
    case 'bulkCreate':
      return Array.from({ length: few }, () => item(true))
    case 'bulkUpdate':
      return ids.map((id) => ({ id, ...item(false) }))
    case 'bulkDestroy':
      return ids
    default:
      return undefined
  }
}

/** Writes that answer with what they have written. */
const SHOWING: ReadonlySet<Action> = new Set([
  'create',
  'update',
  'partialUpdate',
  'bulkCreate',
  'bulkUpdate',
  'restoreDeleted',
])
const PATCHES: readonly (PatchFormat | undefined)[] = [
  undefined,
  'application/merge-patch+json',
  'application/json-patch+json',
]

/** The question with what statics let it ask besides, drawn apart from it. */
export function askedBeside(random: Random, question: Question, estate: Estate): Question {
  const own = question.route.chain.at(-1) as Resource
  const { statics, level } = own
  if (!statics) return question
  const isMarked = statics.deletes === 'marks and tells' && random.chance(0.2)
  const asked = isMarked ? ofMarked(random, question, estate) : question
  const isRead = asked.action === 'list' || asked.action === 'retrieve'
  const isAsked = statics.deletes === 'marks and tells' || (statics.deletes === 'marks' && !statics.isStrict)
  const deleted = isAsked && isRead && random.chance(0.25)
  const writes = !isRead && asked.action !== 'metadata'
  const codes = [...estate.rows[level].values()].map(({ code }) => code)
  const coded = (item: unknown) => {
    const code = random.pick([undefined, `w${random.below(100_000)}`, `w${random.below(100_000)}`, random.pick(codes)])
    const isNamed = asked.action === 'bulkUpdate' && statics.lookup === 'code'
    return typeof item === 'object' && code !== undefined && !isNamed ? { ...item, code } : item
  }
  const { body } = asked
  const isNobody = asked.user === null && statics.ids === 'of each caller'
  const user = isNobody ? { id: 2, isStaff: false } : asked.user
  const { n__gte, fields, ...rest } = asked.query
  // what is kept from the caller is a name that there is not
  const isUnknown = statics.isStrict && keeps({ ...asked, user }, own) === 'n'
  const named = fields?.split(',').filter((name) => !isUnknown || name !== 'n')
  return {
    ...asked,
    user,
    body: Array.isArray(body) ? body.map((item) => (random.chance(0.4) ? coded(item) : item)) : body && coded(body),
    query: {
      ...rest,
      ...(named && { fields: named.join(',') }),
      ...(n__gte !== undefined && !isUnknown && { n__gte }),
      ...(deleted && { deleted: random.pick(['true', 'only', 'false']) }),
    },
    ...(writes && statics.isIdempotent && random.chance(0.5) && { key: `key ${random.below(1e9)}` }),
    ...(SHOWING.has(asked.action) && { isMinimal: random.chance(0.2) }),
    ...(asked.action === 'partialUpdate' && statics.takesPatches && { patch: random.pick(PATCHES) }),
    ...(statics.versions && { version: random.pick([undefined, '1', '2'] as const) }),
  }
}

/** About an object that is marked as deleted, if there is one. */
function ofMarked(random: Random, question: Question, estate: Estate): Question {
  const { route, ids, match } = question
  const own = route.chain.at(-1) as Resource
  const marked = [...estate.rows[own.level].values()].filter(({ isDeleted }) => isDeleted === true)
  const id = random.pick(marked.length > 0 ? marked : [...estate.rows[own.level].values()])?.id ?? 999
  const action = random.pick(OF_MARKED)
  return {
    ...question,
    action,
    method: ACTIONS[action],
    ids: [...ids.slice(0, route.chain.length - 1), id],
    user: random.chance(0.7) ? (CALLERS.at(-1) as User) : question.user,
    body: undefined,
    query: {},
    match,
  }
}

/** The path of a question, with its query. */
export function pathOf(
  { route, ids, action, query }: Question,
  nameOf = (_resource: Resource, id: number) => String(id),
): string {
  const names = ids.map((id, index) => encodeURIComponent(nameOf(route.chain[index] as Resource, id)))
  const isObject = ids.length === route.chain.length
  const path = route.path.replace(/\{(\d)\}/g, (_, index: string) => String(names[Number(index)]))
  const asked = new URLSearchParams(query).toString()
  return `${path}${isObject ? `/${names.at(-1)}` : ''}${endOf(action)}${asked && `?${asked}`}`
}

function endOf(action: Action): string {
  if (action.startsWith('bulk')) return '/bulk'
  return { bump: '/bump', restoreDeleted: '/restore', purgeDeleted: '/purge' }[action as string] ?? ''
}

/** The headers of a question. */
export function headersOf(question: Question): Record<string, string> {
  const { user, match, key, patch, isMinimal } = question
  return {
    ...acceptOf(question, 'application/json'),
    ...(user && { 'X-User': `${user.id}${user.isStaff ? ' staff' : ''}` }),
    ...(key !== undefined && { 'Idempotency-Key': `"${key}"` }),
    ...(patch && { 'Content-Type': patch }),
    ...(isMinimal && { Prefer: 'return=minimal' }),
    ...(match === 'wrong' && { 'If-Match': '"0000000000000000-0000000000000000"' }),
  }
}

/** The header that asks for a media type, in the version of the question where that is said there. */
export function acceptOf({ route, version }: Question, type: string): Record<string, string> {
  const isSaid = route.chain.at(-1)?.statics?.versions === 'accept' && version !== undefined
  return { Accept: isSaid ? `${type}; version=${version}` : type }
}
