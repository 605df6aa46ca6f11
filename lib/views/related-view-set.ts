/** The view sets that show the objects of relations which filters may ask about (`filterRelations`). */

import type { FilterRelation, FilterSettings } from '../filters/filter.js'
import { type Context, RequestSlot } from '../http/context.js'
import { decided, oncePer } from '../kernel/once-per.js'
import type { AnyQueryBuilder, ModelClass } from '../models/objection.js'
import { actionClass } from './action-options.js'
import type { FilterRelations, GenericViewClass, RelatedViewClass } from './generic-view-class.js'

/** Makes the query of what the caller may see; undefined for all rows of the table. */
type Rows = () => AnyQueryBuilder | undefined

const ADMITTED = new RequestSlot<Map<RelatedViewClass, Rows>>('the related objects that the caller may ask about')

/** The view set of one relation. */
export class RelatedViewSet implements FilterRelation {
  readonly #named: FilterRelations[string]
  readonly #filterSettingsOf: (view: GenericViewClass) => FilterSettings

  constructor(named: FilterRelations[string], filterSettingsOf: (view: GenericViewClass) => FilterSettings) {
    this.#named = named
    this.#filterSettingsOf = filterSettingsOf
  }

  /** The class, as its list is answered. */
  get viewClass(): RelatedViewClass {
    return decided(this, 'viewClass', actionClass(namedClass(this.#named) as RelatedViewClass, 'list'))
  }

  get related(): FilterSettings {
    return decided(this, 'related', this.#filterSettingsOf(this.viewClass))
  }

  /** Remembers that the caller of a request may ask about these objects. */
  admit(ctx: Context, rows: Rows): void {
    const admitted = ADMITTED.get(ctx) ?? new Map<RelatedViewClass, Rows>()
    admitted.set(this.viewClass, rows)
    ADMITTED.set(ctx, admitted)
  }

  rows(ctx: Context | undefined): AnyQueryBuilder | undefined {
    const rows = ctx && ADMITTED.get(ctx)?.get(this.viewClass)
    if (!rows) throw new Error(`Nobody has asked whether the caller may see objects of ${this.viewClass.name}`)
    return rows()
  }
}

/** The view sets whose objects filters of a class may ask about, over any number of relations. */
export function reachedViewSets(
  { filterRelations, related: sources }: GenericViewClass,
  reached = new Set<RelatedViewClass>(),
): ReadonlySet<RelatedViewClass> {
  for (const named of [...Object.values(filterRelations), ...Object.values(sources)]) {
    const related = namedClass(named)
    if (!related || reached.has(related)) continue
    reached.add(related)
    reachedViewSets(related, reached)
  }
  return reached
}

/** The view sets from which related objects come (`related`), those of the view sets that are named included. */
const sourcesOf = oncePer((viewClass: GenericViewClass) => {
  const sources = new Map<string, RelatedViewClass>()
  const collect = (view: GenericViewClass): void => {
    for (const [relation, named] of Object.entries(view.related)) {
      const source = namedClass(named)
      const key = sourceKey(view.modelClass(), relation)
      if (!source || sources.has(key)) continue
      sources.set(key, actionClass(source, 'list'))
      collect(source)
    }
  }
  collect(viewClass)
  return sources
})

function sourceKey({ tableName }: Pick<ModelClass, 'tableName'>, relation: string): string {
  return `${tableName} ${relation}`
}

/** The view set from which the objects of a relation come, in requests to a view; undefined where none is named. */
export function relatedSource(
  view: GenericViewClass,
  owner: Pick<ModelClass, 'tableName'>,
  relation: string,
): RelatedViewClass | undefined {
  return sourcesOf(view).get(sourceKey(owner, relation))
}

/** The class that a declaration names; undefined where it names none. */
export function namedClass(named: unknown): RelatedViewClass | undefined {
  if (typeof named !== 'function') return undefined
  const isFunction = Object.getOwnPropertyDescriptor(named, 'prototype')?.writable !== false
  const found = isFunction ? resultOf(named as () => unknown) : named
  return typeof found === 'function' && 'modelClass' in found ? (found as RelatedViewClass) : undefined
}

/** What a function returns; undefined where it throws, as for a name that is not there. */
function resultOf(named: () => unknown): unknown {
  try {
    return named()
  } catch {
    return undefined
  }
}
