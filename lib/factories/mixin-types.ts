/** What the mixins of a specification add to instances. */
import type { SerializerOfAny } from '../serializers/serializer.js'
import type { AggregateMixin } from '../views/mixins/aggregate-mixin.js'
import type { BulkCreateMixin } from '../views/mixins/bulk-create-mixin.js'
import type { BulkDestroyMixin } from '../views/mixins/bulk-destroy-mixin.js'
import type { BulkUpdateMixin } from '../views/mixins/bulk-update-mixin.js'
import type { CreateMixin } from '../views/mixins/create-mixin.js'
import type { DestroyMixin } from '../views/mixins/destroy-mixin.js'
import type { ListMixin } from '../views/mixins/list-mixin.js'
import type { ViewConstructor } from '../views/mixins/mixin.js'
import type { RetrieveMixin } from '../views/mixins/retrieve-mixin.js'
import type { StreamMixin } from '../views/mixins/stream-mixin.js'
import type { UpdateMixin } from '../views/mixins/update-mixin.js'

/** The package's mixins. They are compared with those of a specification once for all, whatever its model is. */
interface Ours {
  readonly list: typeof ListMixin
  readonly stream: typeof StreamMixin
  readonly retrieve: typeof RetrieveMixin
  readonly aggregate: typeof AggregateMixin
  readonly create: typeof CreateMixin
  readonly update: typeof UpdateMixin
  readonly destroy: typeof DestroyMixin
  readonly bulkCreate: typeof BulkCreateMixin
  readonly bulkUpdate: typeof BulkUpdateMixin
  readonly bulkDestroy: typeof BulkDestroyMixin
}

/**
 * The methods of the package's mixins. They are written out, since the compiler lets a class override methods only, and makes
 * properties of what it takes from the type of a mixin; and so hooks know the model and the serializer.
 */
interface Methods<M, S> {
  readonly list: { list(): Promise<unknown> }
  readonly stream: { list(): Promise<unknown> }
  readonly retrieve: { retrieve(): Promise<unknown> }
  readonly aggregate: { aggregate(): Promise<unknown>; facets(): Promise<unknown> }
  readonly create: { create(): Promise<unknown>; performCreate(serializer: S): Promise<unknown> }
  readonly update: {
    update(options?: { partial?: boolean }): Promise<unknown>
    partialUpdate(): Promise<unknown>
    performUpdate(serializer: S, instance: M): Promise<unknown>
  }
  readonly destroy: {
    destroy(): Promise<unknown>
    performDestroy(instance: M): Promise<unknown>
    restoreDeleted(): Promise<unknown>
    performRestore(instance: M): Promise<unknown>
    purgeDeleted(): Promise<void>
    performPurge(instance: M): Promise<unknown>
  }
  readonly bulkCreate: { bulkCreate(): Promise<unknown>; performBulkCreate(serializer: S): Promise<unknown> }
  readonly bulkUpdate: {
    bulkUpdate(): Promise<unknown>
    performBulkUpdate(serializer: S, instances: readonly M[]): Promise<unknown>
  }
  readonly bulkDestroy: {
    bulkDestroy(): Promise<unknown>
    performBulkDestroy(instances: readonly M[]): Promise<unknown>
  }
}

/** @internal What all mixins of a specification add to instances of a model and a serializer. */
export type MixedIn<Spec, Instance, M, S extends SerializerOfAny> = Spec extends {
  readonly mixins: infer Mixins extends readonly unknown[]
}
  ? Together<Mixins[number], Instance, Methods<M, S>>
  : unknown

type Together<Mixin, Instance, Table> = (
  Mixin extends unknown
    ? (value: Added<Mixin, Instance, Table>) => void
    : never
) extends (value: infer All) => void
  ? All
  : never

type Added<Mixin, Instance, Table> =
  NameOf<Mixin> extends infer Name
    ? [Name] extends [never]
      ? Besides<Members<Mixin>, Instance>
      : Table[Name & keyof Table]
    : never

/** What the instance does not have; as it is where that is all of it, so that methods stay methods. */
type Besides<Members, Instance> = keyof Members & keyof Instance extends never ? Members : Omit<Members, keyof Instance>

/** Which of the package's mixins it is, and never for others: also for one of an application that is made of ours. */
type NameOf<Mixin> = {
  [Name in keyof Ours]: [Mixin, Ours[Name]] extends [Ours[Name], Mixin] ? Name : never
}[keyof Ours]

/** All that instances of a mixin have. */
type Members<Mixin> = Mixin extends (base: ViewConstructor) => infer Made
  ? 0 extends 1 & Made
    ? {}
    : Made extends abstract new (
          ...args: never[]
        ) => infer Instance
      ? Instance
      : {}
  : {}
