/** What the steps of a request, and what is decided before, know of a generic view's class. */

import type { BaseFilter, ParameterDescription } from '../filters/filter.js'
import type { Policies, Policy } from '../kernel/policy.js'
import type { ModelClass } from '../models/objection.js'
import type { BasePagination } from '../pagination/pagination.js'
import type { SerializerClass } from '../serializers/contract.js'
import type { Expandable } from '../serializers/select-fields.js'
import type { GovernedClass } from './policies.js'
import type { Envelope, SoftDelete, Statuses } from './statics.js'
import type { HandledClass } from './view.js'

/** A generic view's class: what is known before any request. */
export interface GenericViewClass extends GovernedClass {
  new (): object
  /** The name of the class. */
  readonly name: string
  /** Its instances. */
  readonly prototype: object
  readonly model: ModelClass | null
  readonly queryset: (() => unknown) | null
  readonly serializerClass: SerializerClass | null
  readonly lookupField: string
  readonly lookupUrlKwarg: string | null
  readonly paginationClass: Policy<BasePagination> | null
  readonly filterBackends: Policies<BaseFilter>
  readonly filtersetFields: readonly string[]
  readonly filterRelations: FilterRelations
  readonly searchFields: readonly string[]
  readonly orderingFields: readonly string[]
  readonly ordering: readonly string[]
  readonly searchConfig: string
  readonly searchType: string
  readonly searchParam: string
  readonly useNativeJson: boolean
  readonly strictParams: boolean
  readonly queryMethod: boolean
  readonly queryParameters: readonly ParameterDescription[]
  readonly concurrency: string | readonly string[] | null
  readonly requireIfMatch: boolean
  readonly softDelete: SoftDelete
  readonly envelope: Envelope
  readonly statuses: Statuses
  /** The foreign key to the objects it is nested in (NestedViewSetMixin). */
  readonly parentLookupField?: string
  readonly expandable: Expandable
  readonly expandParam: string
  /** The model, from `model` or `queryset`. */
  modelClass(): ModelClass
}

/** False for a view whose objects only code of the application knows. */
export function hasModel({ model, queryset }: { readonly model: unknown; readonly queryset: unknown }): boolean {
  return model !== null || queryset !== null
}

/** A view set that shows the objects of a relation. */
export interface RelatedViewClass extends GenericViewClass, HandledClass {}

/**
 * The view sets that show the objects of relations, by the relation's name; functions for those that are declared further
 * below. Annotate with this type what names each other.
 */
export type FilterRelations = Readonly<Record<string, RelatedViewClass | (() => RelatedViewClass)>>
