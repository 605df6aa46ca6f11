/** What the steps of a request, and what is decided before, know of a generic view's class. */

import type { ModelClass } from '../models/objection.js'
import type { SerializerClass } from '../serializers/contract.js'
import type { APIView } from './api-view.js'
import type { GenericViewStatics } from './generic-statics.js'
import type { GovernedClass } from './policies.js'
import type { HandledClass } from './view.js'

/** The names of the statics that generic views have besides those of all views. */
export type GenericStatic = Exclude<keyof typeof GenericViewStatics, keyof typeof APIView>

type DeclaredStatics = { readonly [Name in GenericStatic]: (typeof GenericViewStatics)[Name] }

/** A generic view's class: what is known before any request. */
export interface GenericViewClass extends GovernedClass, DeclaredStatics {
  new (): object
  /** The name of the class. */
  readonly name: string
  /** Its instances. */
  readonly prototype: object
  /** The foreign key to the objects it is nested in, or its relation (NestedViewSetMixin); absent where a queryset narrows itself. */
  readonly parentLookupField?: string
  /** The model, from `model` or `queryset`. */
  modelClass(): ModelClass
  /** The serializers of bodies: of its own, and of its actions. */
  takingSerializers(): readonly SerializerClass[]
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
