/** What is shown inside objects, and what a write of it leaves and is refused: by what holds of each related row itself. */
import { MASK, type Resource } from './application.js'
import { belowOf, type Estate, LEVELS, type Level, parentOf, type Row } from './estate.js'
import type { Writes } from './estate-views.js'
import { holdsFor, isMet, keeps, type Question } from './expected.js'
import { INNER_FIELDS, isInside } from './nests.js'

type Item = Readonly<Record<string, unknown>>

/** A related row that the caller sees; undefined where there is none, or none that is shown. */
function seenRow(question: Question, level: Level, id: number | null, estate: Estate) {
  const row = id === null ? undefined : estate.rows[level].get(id)
  return row && isMet(question, level, row, estate) ? row : undefined
}

const childrenOf = (question: Question, level: Level, id: number, estate: Estate): readonly Row[] =>
  [...estate.rows[level].values()]
    .filter((row) => row.parent_id === id && !row.isDeleted && seenRow(question, level, row.id, estate))
    .sort((one, other) => one.id - other.id)

const resourceAt = ({ resources }: Question, level: Level) =>
  resources.find((resource) => resource.level === level) as Resource

/** The related objects that the request is shown of a row. */
export function shownInside(question: Question, { level, nests }: Resource, row: Row, estate: Estate): Item {
  const below = belowOf(level)
  const { expand } = question.query
  const parent = seenRow(question, parentOf(level), row.parent_id, estate)
  return {
    ...(isInside(nests, 'parent', expand) && {
      parent: parent ? innerObject(question, parentOf(level), parent, estate, false) : null,
    }),
    ...(below &&
      isInside(nests, 'children', expand) && { children: listOf(question, below, row.id, estate, nests?.isDeep) }),
  }
}

const listOf = (question: Question, level: Level, id: number, estate: Estate, isDeep = false): readonly Item[] =>
  childrenOf(question, level, id, estate).map((row) => innerObject(question, level, row, estate, isDeep))

function innerObject(question: Question, level: Level, row: Row, estate: Estate, isDeep: boolean): Item {
  const kept = keeps(question, resourceAt(question, level))
  const below = isDeep ? belowOf(level) : undefined
  const shown = Object.fromEntries(
    INNER_FIELDS.filter((name) => name !== 'n' || kept !== 'n').map((name) => [name, row[name]]),
  )
  return {
    ...shown,
    ...(kept === 'title' && { title: MASK }),
    ...(below && { children: listOf(question, below, row.id, estate) }),
  }
}

/** Rows that are yet to get their ids have negative ones, in the order in which they are made. */
const FIRST = -1_000_000_000
const PHASE = 1_000_000
export const PHASES = { parent: 1, own: 2, children: 3, grandchildren: 4 } as const

export function nextId(phase: number, level: Level, { rows }: Estate): number {
  const start = FIRST + phase * PHASE
  let id = start
  while (rows[level].has(id)) id++
  return id
}

export const blankRow = (id: number): Row => ({
  id,
  parent_id: null,
  owner_id: null,
  open: false,
  archived: false,
  n: null,
  title: '',
  isDeleted: false,
})

export interface Written {
  readonly question: Question
  readonly start: Estate
  /** The statuses by which what is inside of objects is refused. */
  readonly refusals: Set<number>
}

/** The write of a request: what has become of the rows, and the statuses by which it may be refused. */
export class TreeWrite {
  readonly #question: Question
  /** The rows as the request found them. */
  readonly #start: Estate
  readonly #refusals: Set<number>
  estate: Estate

  constructor({ question, start, refusals }: Written, estate: Estate) {
    this.#question = question
    this.#start = start
    this.#refusals = refusals
    this.estate = estate
  }

  /** Writes the object that a row belongs to, and returns its id. @param isNew nothing is stored of the row */
  parent({ level }: Resource, row: Row, isNew: boolean, given: Item | null): number | null {
    const above = parentOf(level)
    const current = isNew ? undefined : seenRow(this.#question, above, row.parent_id, this.#start)
    // null is what is shown of an object that is not
    if (given === null) return current || isNew ? null : row.parent_id
    if (!isNew && given['id'] !== undefined && given['id'] !== current?.id) this.#refusals.add(400)
    const id = current?.id ?? nextId(PHASES.parent, above, this.estate)
    this.#write(above, { id, target: current, given, decided: {} })
    return id
  }

  /** Writes the objects that belong to a row; true where one of them changes. */
  children(level: Level, owner: { id: number; isNew: boolean; phase: number }, list: readonly Item[]): boolean {
    const own = owner.isNew ? [] : childrenOf(this.#question, level, owner.id, this.#start)
    const named = new Set<unknown>()
    let isChanged = false
    for (const given of list) {
      const target = own.find(({ id }) => id === given['id'])
      const isNamed = !owner.isNew && given['id'] !== undefined
      if (isNamed && (!target || named.has(given['id']))) {
        this.#refusals.add(400)
        continue
      }
      named.add(given['id'])
      const id = target?.id ?? nextId(owner.phase, level, this.estate)
      if (this.#write(level, { id, target, given, decided: { parent_id: owner.id } })) isChanged = true
    }
    return isChanged
  }

  #write(level: Level, { id, target, given, decided }: InnerWrite): boolean {
    const before = this.estate
    const other = resourceAt(this.#question, level)
    const kept = keeps(this.#question, other)
    this.#check(given, target, kept)
    const told = INNER_FIELDS.filter((name) => name !== 'id' && given[name] !== undefined && name !== kept)
    const values = Object.fromEntries(told.map((name) => [name, given[name]]))
    const from = target ?? blankRow(id)
    const row = { ...from, ...decided, ...values } as Row
    const differs = !target || told.some((name) => row[name] !== target[name])
    this.estate = withRow(this.estate, level, row)
    const below = belowOf(level)
    const list = given['children'] as readonly Item[] | undefined
    const after = this.estate
    const owner = { id, isNew: !target, phase: PHASES.grandchildren }
    const isChanged = (below && list ? this.children(below, owner, list) : false) || differs
    if (!isChanged) return false
    if (target?.isDeleted) this.#refusals.add(400)
    const isMine = !target || this.#allows(other, 'update', target, before, true)
    if (!isMine || !this.#allows(other, target ? 'update' : 'create', row, after, false)) this.#refusals.add(403)
    return true
  }

  #check(given: Item, target: Row | undefined, kept: string | undefined): void {
    const isKept = target !== undefined && kept === 'title'
    const isPartial = target !== undefined && isPartialWrite(this.#question)
    if (given['title'] === undefined && !isPartial && !isKept) this.#refusals.add(400)
    const { n, owner_id } = given
    if ((n != null && typeof n !== 'number') || owner_id === 999) this.#refusals.add(400)
    if (kept !== undefined && given[kept] !== undefined && given[kept] !== MASK) this.#refusals.add(403)
  }

  #allows(other: Resource, use: keyof Writes, row: Row, estate: Estate, isBefore: boolean): boolean {
    const { level, shape, writes, condition, mayLeave } = other
    if (shape.isRule) return holdsFor(this.#question, level, writes[use] ?? condition, row, estate)
    const narrowed = this.#question.ruled.get(level)
    return isBefore || mayLeave || !narrowed || holdsFor(this.#question, level, narrowed, row, estate)
  }
}

interface InnerWrite {
  readonly id: number
  /** The row that is changed. */
  readonly target: Row | undefined
  readonly given: Item
  readonly decided: object
}

/** Whether what stands already need not be sent whole. */
export function isPartialWrite({ action, route }: Question): boolean {
  return (
    action === 'partialUpdate' ||
    action === 'bulkUpdate' ||
    (action === 'update' && route.chain.at(-1)?.statics?.hasPartialPut === true)
  )
}

export function withRow(estate: Estate, level: Level, row: Row): Estate {
  return { ...estate, rows: { ...estate.rows, [level]: new Map(estate.rows[level]).set(row.id, row) } }
}

/** The id that a row got, of those that are new in what is stored. */
export function settledId(meant: Estate, stored: Estate, { level, id }: { level: Level; id: number }): number {
  if (id >= 0) return id
  const inOrder = (ids: number[]) => ids.sort((one, other) => one - other)
  const made = inOrder([...meant.rows[level].keys()].filter((one) => one < 0))
  const found = inOrder([...stored.rows[level].keys()].filter((one) => !meant.rows[level].has(one)))
  return found[made.indexOf(id)] ?? id
}

/** The rows that were meant, once new ones have the ids and codes that they got. */
export function settled(meant: Estate, stored: Estate): Estate {
  const nameAt = (level: Level, id: number) => settledId(meant, stored, { level, id })
  const rowsAt = (level: Level) => {
    const rows = [...meant.rows[level].values()].map((row): Row => {
      const id = nameAt(level, row.id)
      const { code, public_id } = (row.id < 0 ? stored.rows[level].get(id) : undefined) ?? {}
      const parent_id = row.parent_id === null ? null : nameAt(parentOf(level), row.parent_id)
      return { ...(code !== undefined && { code, public_id: public_id as string }), ...row, id, parent_id }
    })
    return [level, new Map(rows.map((row) => [row.id, row]))]
  }
  const labels = [...meant.labels].map((link) => {
    const [paper, label] = link.split(' ').map(Number) as [number, number]
    return `${nameAt('papers', paper)} ${label}`
  })
  return { ...meant, rows: Object.fromEntries(LEVELS.map(rowsAt)) as Estate['rows'], labels: new Set(labels) }
}
