/** Rules of who may do what, said twice: as permission classes, and as their meaning. */
import {
  and,
  BasePermission,
  type Context,
  type GuardedView,
  IsAdminUser,
  IsAuthenticated,
  IsAuthenticatedOrReadOnly,
  not,
  ObjectPermission,
  or,
  type Permissions,
} from 'koa-viewsets'
import type { Row } from './estate.js'

/** Who asks. */
export interface User {
  readonly id: number
  readonly isStaff: boolean
}

/** What is asked of a view. */
export interface Asked {
  readonly user: User | null
  readonly method: string
  readonly action: string
}

interface Leaf {
  readonly policy: Permissions[number]
  /** Left out where it says nothing of requests. */
  has?(asked: Asked): boolean
  /** Left out where it says nothing of objects. */
  object?(asked: Asked, row: Row): boolean
}

const READING = new Set(['GET', 'HEAD', 'OPTIONS', 'QUERY'])

class SmallToWrite extends BasePermission {
  override hasObjectPermission({ method }: Context, _view: GuardedView, object: object): boolean {
    const { n } = object as Row
    return READING.has(method) || (n !== null && n < 5)
  }
}

class NotInBulk extends BasePermission {
  override hasPermission(_ctx: Context, { action }: GuardedView): boolean {
    return !action.startsWith('bulk')
  }
}

/** Looks at both, and takes its time. */
class Editor extends BasePermission {
  override async hasPermission({ state, method }: Context): Promise<boolean> {
    return READING.has(method) || state['user'] !== undefined
  }
  override async hasObjectPermission({ state }: Context, _view: GuardedView, object: object): Promise<boolean> {
    const { open, owner_id } = object as Row
    return open || owner_id === (state['user'] as { id: number } | undefined)?.id
  }
}

class NotRetrieved extends BasePermission {
  override hasPermission(_ctx: Context, { action }: GuardedView): boolean {
    return action !== 'retrieve'
  }
}

const LEAVES = {
  known: { policy: IsAuthenticated, has: ({ user }) => user !== null },
  'known or reading': {
    policy: IsAuthenticatedOrReadOnly,
    has: ({ user, method }) => user !== null || READING.has(method),
  },
  staff: { policy: IsAdminUser, has: ({ user }) => user?.isStaff === true },
  owner: {
    policy: new ObjectPermission(),
    object: ({ user }, { owner_id }) => owner_id !== null && owner_id === user?.id,
  },
  'small to write': {
    policy: SmallToWrite,
    object: ({ method }, { n }) => READING.has(method) || (n !== null && n < 5),
  },
  'not in bulk': { policy: NotInBulk, has: ({ action }) => !action.startsWith('bulk') },
  editor: {
    policy: Editor,
    has: ({ user, method }) => READING.has(method) || user !== null,
    object: ({ user }, { open, owner_id }) => open || owner_id === (user?.id ?? undefined),
  },
  'not retrieved': { policy: NotRetrieved, has: ({ action }) => action !== 'retrieve' },
} satisfies Record<string, Leaf>

type LeafName = keyof typeof LEAVES
export const LEAF_NAMES = Object.keys(LEAVES) as LeafName[]

export type Rule =
  | { readonly leaf: LeafName; readonly negated?: boolean }
  | { readonly all: readonly Rule[] }
  | { readonly any: readonly Rule[] }
  | { readonly none: Rule }

/** The permission that an application writes for a rule. */
export function policyOf(rule: Rule): Permissions[number] {
  if ('leaf' in rule) return LEAVES[rule.leaf].policy
  if ('none' in rule) return not(policyOf(rule.none))
  return 'all' in rule ? and(...rule.all.map(policyOf)) : or(...rule.any.map(policyOf))
}

/** The rule with its negations at its leaves: what `not` says of `and` and `or`. */
function settled(rule: Rule, negated = false): Rule {
  if ('leaf' in rule) return { leaf: rule.leaf, negated }
  if ('none' in rule) return settled(rule.none, !negated)
  const parts = ('all' in rule ? rule.all : rule.any).map((part) => settled(part, negated))
  return 'all' in rule !== negated ? { all: parts } : { any: parts }
}

/** Whether the request may go on. */
export function admits(rule: Rule, asked: Asked): boolean {
  return has(settled(rule), asked)
}

/** Whether it may work on the object. */
export function admitsObject(rule: Rule, asked: Asked, row: Row): boolean {
  return hasObject(settled(rule), asked, row)
}

/** Whether it says anything of objects. */
export function guardsObjects(rule: Rule): boolean {
  if ('leaf' in rule) return (LEAVES[rule.leaf] as Leaf).object !== undefined
  if ('none' in rule) return guardsObjects(rule.none)
  return ('all' in rule ? rule.all : rule.any).some(guardsObjects)
}

function has(rule: Rule, asked: Asked): boolean {
  if ('all' in rule) return rule.all.every((part) => has(part, asked))
  if ('any' in rule) return rule.any.some((part) => has(part, asked))
  if ('none' in rule) throw new Error('settled before')
  const leaf: Leaf = LEAVES[rule.leaf]
  return leaf.has === undefined || leaf.has(asked) !== (rule.negated ?? false)
}

function hasObject(rule: Rule, asked: Asked, row: Row): boolean {
  if ('all' in rule) return rule.all.every((part) => hasObject(part, asked, row))
  if ('any' in rule) return rule.any.some((part) => has(part, asked) && hasObject(part, asked, row))
  if ('none' in rule) throw new Error('settled before')
  const leaf: Leaf = LEAVES[rule.leaf]
  return leaf.object === undefined || leaf.object(asked, row) !== (rule.negated ?? false)
}

/** The rule in words. */
export function nameOf(rule: Rule): string {
  if ('leaf' in rule) return rule.leaf
  if ('none' in rule) return `not(${nameOf(rule.none)})`
  return 'all' in rule ? `and(${rule.all.map(nameOf).join(', ')})` : `or(${rule.any.map(nameOf).join(', ')})`
}
