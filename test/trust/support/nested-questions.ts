/** What requests by chance say of objects inside others, drawn apart from the rest of them. */
import type { Resource } from './application.js'
import { belowOf, type Estate, type Row } from './estate.js'
import type { Question } from './expected.js'
import type { Random } from './random.js'
import { shownInside } from './trees.js'

type Item = Readonly<Record<string, unknown>>

const WRITES: ReadonlySet<string> = new Set(['create', 'update', 'partialUpdate', 'bulkCreate', 'bulkUpdate'])
const SHOWS: ReadonlySet<string> = new Set([...WRITES, 'list', 'retrieve'])

/** The question with objects inside its items, and with what it asks to be shown. */
export function askedInside(random: Random, question: Question, estate: Estate): Question {
  const { route, action, body, query, ids } = question
  const own = route.chain.at(-1) as Resource
  const { nests, level } = own
  if (!nests || !SHOWS.has(action)) return question
  const names = (['parent', 'children'] as const).filter((name) => nests[name] === 'expandable')
  const expand = names.length > 0 && random.chance(0.5) ? random.pick(['*', ...names, names.join(',')]) : undefined
  const asked = { ...question, query: { ...query, ...(expand !== undefined && { expand }) } }
  const idOf = (item: Item) =>
    ({ update: ids.at(-1), partialUpdate: ids.at(-1), bulkUpdate: item['id'] })[action as string]
  const withInside = (item: Item, index: number): Item => {
    const row = estate.rows[level].get(idOf(item) as number)
    // two items could be about one object, or say two things of one that both belong to
    const isAlone = action !== 'bulkUpdate' || (level !== 'folders' && index === 0)
    return itemInside(random, asked, { own, item, row, isAlone, estate })
  }
  if (!WRITES.has(action)) return asked
  return { ...asked, body: Array.isArray(body) ? body.map(withInside) : withInside(body as Item, 0) }
}

interface Place {
  readonly own: Resource
  readonly item: Item
  /** What is stored of it. */
  readonly row: Row | undefined
  /** No other item of the request is about what it belongs to. */
  readonly isAlone: boolean
  readonly estate: Estate
}

function itemInside(random: Random, question: Question, { own, item, row, isAlone, estate }: Place): Item {
  const { nests, level } = own
  const shown = row && shownInside(question, own, row, estate)
  const isWhole =
    question.patch === 'application/json-patch+json' || (question.action === 'update' && random.chance(0.9))
  const asked = { isWhole, isDeep: nests?.isDeep === true }
  const { parent_id: _, ...rest } = item
  const hasParent = nests?.parent === 'written' && isAlone && random.chance(0.5)
  const hasChildren = belowOf(level) && nests?.children === 'written' && random.chance(0.6)
  return {
    ...(hasParent ? rest : item),
    ...(hasParent && { parent: parentOf(random, shown?.['parent'] as Item | null | undefined, asked.isWhole) }),
    ...(hasChildren && { children: randomList(random, (shown?.['children'] ?? []) as readonly Item[], asked) }),
  }
}

function parentOf(random: Random, shown: Item | null | undefined, isWhole: boolean): Item | null {
  if (random.chance(0.15)) return null
  if (!shown) return newObject(random)
  return random.chance(0.05)
    ? { ...edited(random, shown, isWhole), id: 1 + random.below(7) }
    : edited(random, shown, isWhole)
}

interface Asked {
  /** Nothing is left out of what was shown. */
  readonly isWhole: boolean
  readonly isDeep: boolean
}

function randomList(random: Random, shown: readonly Item[], { isWhole, isDeep }: Asked): readonly Item[] {
  const kept = isWhole ? shown : shown.filter(() => random.chance(0.7))
  const deeper = (item: Item, inner: readonly Item[]) =>
    isDeep && random.chance(0.5) ? { ...item, children: randomList(random, inner, { isWhole, isDeep: false }) } : item
  const changed = kept.map(({ children, ...object }) => {
    const item = random.chance(0.3) ? object : edited(random, object, isWhole)
    return children === undefined ? item : deeper(isWhole ? { ...item, children } : item, children as readonly Item[])
  })
  const made = Array.from({ length: random.pick([0, 0, 1, 2]) }, () => deeper(newObject(random), []))
  const wrong = random.chance(0.05) ? [{ ...newObject(random), id: 1 + random.below(7) }] : []
  return [...changed, ...made, ...wrong]
}

const randomValues = (random: Random): Item => ({
  title: `inside ${random.below(100)}`,
  n: random.chance(0.03) ? 'x' : random.pick([null, 2, 6]),
  open: random.chance(0.5),
  archived: random.chance(0.3),
  owner_id: random.chance(0.03) ? 999 : random.pick([null, 1, 2, 3]),
})

function newObject(random: Random): Item {
  const { title, ...rest } = randomValues(random)
  const values = Object.fromEntries(Object.entries(rest).filter(() => random.chance(0.5)))
  return random.chance(0.04) ? values : { title, ...values }
}

/** An object as it was shown, with other values; some of the rest may be left out. */
function edited(random: Random, { id, ...shown }: Item, isWhole: boolean): Item {
  const values = Object.fromEntries(
    Object.entries(randomValues(random)).filter(([name]) => name in shown && random.chance(0.3)),
  )
  const kept = Object.fromEntries(Object.entries(shown).filter(() => isWhole || random.chance(0.3)))
  return { ...(isWhole || random.chance(0.9) ? { id } : {}), ...kept, ...values }
}
