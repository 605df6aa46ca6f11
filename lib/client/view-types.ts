/** What view sets show and take, as types. */

import type { Wire } from '../factories/serializer-types.js'
import type { ViewTypes } from '../factories/view-sets.js'
import type { ModelType, Related } from '../models/model-types.js'
import type { SerializerClass } from '../serializers/contract.js'
import type { Carried, Given, IsTyped, Output } from '../serializers/types.js'
import type { Envelope, SoftDelete, Statuses } from '../views/statics.js'

export type SpecOf<View> = View extends ViewTypes<infer _Model, infer Spec> ? Spec : unknown

/** The model class of a view set. */
type ModelClassOf<View> = View extends ViewTypes<infer Class, infer _Spec> ? Class : never

/** The objects of a view set's model. */
export type ModelOf<View> = ModelClassOf<View> extends ModelType<infer M> ? M : never

/** A static as a subclass has set it, else as the factory got it. */
export type StaticOf<View, Name extends string, Wide> = ChosenStatic<OwnStatic<View, Name>, Wide, SpecOf<View>, Name>

type OwnStatic<View, Name extends string> = View extends { readonly [N in Name]: infer Own } ? Own : undefined

type ChosenStatic<Own, Wide, Spec, Name> = [Wide] extends [Own] ? Member<Spec, Name> : Own

/** By the name, as the compiler makes variants of whole objects to compare them. */
export type Member<T, Name> = Name extends keyof T ? T[Name] : undefined

/** The names that a static lists. */
export type NameOf<View, Name extends string> =
  StaticOf<View, Name, readonly string[]> extends readonly (infer Item)[] ? Item & string : never

/** The names of what a view set has, by its class and by its mixins. */
export type MethodOf<View> = keyof InstanceOf<View> | MixinMethod<SpecOf<View>>

type InstanceOf<View> = View extends abstract new (...args: never[]) => infer Instance ? Instance : {}

type MixinMethod<Spec> = Spec extends { readonly mixins: readonly (infer Mixin)[] } ? MethodOfMixin<Mixin> : never

type MethodOfMixin<Mixin> = Mixin extends (base: never) => { readonly prototype: infer Methods } ? keyof Methods : never

/** True for a view set whose changes can be listened to, by its class or by a mixin; others may have an action of that name. */
export type HasStream<View> = View extends { readonly changeStream: unknown }
  ? true
  : SpecOf<View> extends { readonly mixins: readonly (infer Mixin)[] }
    ? [Extract<Mixin, StreamMaker>] extends [never]
      ? false
      : true
    : false

type StreamMaker = (base: never) => { readonly changeStream: unknown }

type SerializerOf<View> = StaticOf<View, 'serializerClass', SerializerClass | null>

type TakingOf<View> =
  StaticOf<View, 'inputSerializerClass', SerializerClass | null> extends infer S extends SerializerClass
    ? S
    : SerializerOf<View>

/** One object as it is shown. */
export type Shown<View> = SerializerOf<View> extends infer S extends SerializerClass ? Output<S> : unknown

/** What is sent of one object. */
export type Taken<View> = TakingOf<View> extends infer S extends SerializerClass ? SentTo<S> : unknown

/** What is sent to change a part of one object. */
export type Patch<View> =
  TakingOf<View> extends infer S extends SerializerClass ? PatchOf<Given<S>, FieldsOf<S>> : unknown

/** What is sent to a serializer. */
export type SentTo<S> = Sent<Given<S>, FieldsOf<S>>

/** What is sent for such values: files of a form, bytes as text, and nothing for hidden fields. */
export type Sent<T, Fields> = keyof Fields extends never
  ? { readonly [K in keyof T]: SentValue<T[K]> }
  : { readonly [K in keyof T as SentName<K, Fields>]: SentAt<T[K], FieldAt<Fields, K>, false> } & {}

/** The same, of which all may be left out; of nested objects, too. */
type PatchOf<T, Fields> = keyof Fields extends never
  ? { readonly [K in keyof T]?: SentValue<T[K]> }
  : { readonly [K in keyof T as SentName<K, Fields>]?: SentAt<T[K], FieldAt<Fields, K>, true> } & {}

/** The fields that a serializer declares itself. */
type FieldsOf<S> =
  IsTyped<S> extends true
    ? Carried<S, 'fields'>
    : S extends { readonly declaredFields: infer Fields }
      ? Fields
      : unknown

type FieldAt<Fields, K> = K extends keyof Fields ? Fields[K] : unknown

type SentAt<T, Field, IsPatch> = Field extends {
  readonly serializerClass: infer S extends SerializerClass
  readonly options: infer Options
}
  ?
      | Extract<T, null>
      | (Options extends { readonly many: true } ? (Nested<S, IsPatch> & NestedKey<S>)[] : Nested<S, IsPatch>)
  : Field extends { readonly options: { readonly shownBy: infer S extends SerializerClass } }
    ? T extends readonly (infer Key)[]
      ? (Key | Output<S>)[]
      : T | Output<S>
    : SentValue<T>

type Nested<S extends SerializerClass, IsPatch> = IsPatch extends true ? PatchOf<Given<S>, FieldsOf<S>> : SentTo<S>

/** What names an object of a nested list that is there already. */
type NestedKey<S> =
  Output<S> extends { readonly id: infer Id } ? ('id' extends keyof Given<S> ? {} : { readonly id?: Id }) : {}

type SentName<K, Fields> = K extends keyof Fields ? (Fields[K] extends { readonly hidden: true } ? never : K) : K

type SentValue<T> = T extends { readonly filename: string; readonly mediaType: string }
  ? Blob
  : T extends Uint8Array
    ? string
    : T

/** The fields that are shown. */
export type FieldName<View> = keyof Shown<View> & string

/** As a subclass has set it, else as the factory got it. */
type ExpandableOf<View> = View extends { readonly expandable: infer Expandable }
  ? string extends keyof Expandable
    ? ExpandableOfSpec<SpecOf<View>>
    : Expandable
  : ExpandableOfSpec<SpecOf<View>>

type ExpandableOfSpec<Spec> = 'expandable' extends keyof Spec ? Spec['expandable'] : {}

/** The related objects that a client may ask for. */
export type ExpandName<View> = keyof ExpandableOf<View> & string

/** What a client may ask for, and all of it at once. */
export type AskedExpansion<View> = [ExpandName<View>] extends [never] ? never : ExpandName<View> | '*'

/** The parameter that asks for related objects. */
export type ExpandParam<View> =
  StaticOf<View, 'expandParam', string> extends infer Name extends string
    ? string extends Name
      ? 'expand'
      : Name
    : 'expand'

/** What a request gets that asks for these fields and related objects. */
export type ShownPart<View, F extends string, E extends string> = [E] extends [never]
  ? FieldsPart<Shown<View>, F>
  : Expanded<
      FieldsPart<Shown<View>, F>,
      Shown<View>,
      ModelOf<View>,
      ExpandableOf<View>,
      '*' extends E ? ExpandName<View> : E
    >

type FieldsPart<T, F extends string> = keyof T & string extends F ? T : Pick<T, F & keyof T>

/** A part of what is shown (`S`) of an object, with the related objects that paths lead to in place of what it shows there. */
type Expanded<Part, S, M, Expandable, E extends string> = Simplify<
  Omit<Part, HeadOf<E>> & {
    [Head in HeadOf<E>]: IsCount<Expandable, Head> extends true
      ? number
      : Placed<S, M, Head, RelatedShown<S, M, Expandable, E, Head>>
  }
>

/** `author` of `author.country`. */
type HeadOf<Path extends string> = Path extends `${infer Head}.${string}` ? Head : Path

type TailOf<Path, Head extends string> = Path extends `${Head}.${infer Tail}` ? Tail : never

/** One related object: by the serializer that `expandable` names for it, else by that of the nested field which shows it. */
type RelatedShown<S, M, Expandable, E extends string, Head extends string> = Further<
  Head extends keyof Expandable ? OutputOf<Expandable[Head]> : ItemOf<At<S, Head>>,
  Related<At<M, Head>>,
  { [Path in keyof Expandable as TailOf<Path, Head>]: Expandable[Path] },
  TailOf<E, Head>
>

type Further<S, M, Expandable, E extends string> = [E] extends [never] ? S : Expanded<S, S, M, Expandable, E>

type OutputOf<S> = S extends SerializerClass
  ? Output<S>
  : S extends { readonly serializerClass: infer Nested extends SerializerClass }
    ? Output<Nested>
    : unknown

/** The number of related objects, in place of the objects. */
type IsCount<Expandable, Head> = Head extends keyof Expandable
  ? Expandable[Head] extends { readonly function: 'count' }
    ? true
    : false
  : false

type At<T, K> = K extends keyof T ? T[K] : unknown

type ItemOf<T> = NonNullable<T> extends readonly (infer Item)[] ? Item : NonNullable<T>

/** A nested field is shown as it always is; any other relation as a list, or as an object or null. */
type Placed<S, M, Head, T> =
  IsNested<At<S, Head>> extends true ? PlacedAs<At<S, Head>, T, never> : PlacedAs<At<M, Head>, T, null>

type PlacedAs<Place, T, None> = unknown extends Place
  ? unknown
  : NonNullable<Place> extends readonly unknown[]
    ? T[]
    : T | Extract<Place, null> | None

type IsNested<T> = unknown extends T ? false : ItemOf<T> extends string | number | boolean ? false : true

type Simplify<T> = { [K in keyof T]: T[K] } & {}

type NamesOf<View> = StaticOf<View, 'envelope', Envelope>

/** The member that the view set puts around one object or a list; never where there is none. */
type Around<View, Part extends 'list' | 'object'> =
  NamesOf<View> extends infer Names
    ? Names extends string
      ? Names
      : Names extends { readonly [P in Part]: infer Name extends string }
        ? Name
        : never
    : never

type MetaOf<View> =
  NamesOf<View> extends infer Names
    ? Names extends string
      ? 'meta'
      : Names extends { readonly meta: infer Name extends string }
        ? Name
        : never
    : never

/** One object in the view set's envelope. */
export type Enclosed<View, T> = [Around<View, 'object'>] extends [never] ? T : { [N in Around<View, 'object'>]: T }

/** A list in the view set's envelope. */
export type EnclosedList<View, T> = [Around<View, 'list'>] extends [never] ? T[] : { [N in Around<View, 'list'>]: T[] }

/** A page in the view set's envelope. */
type EnclosedPage<View, Page> = [Around<View, 'list'>] extends [never]
  ? Page
  : Page extends { results: infer Items }
    ? { [N in Around<View, 'list'>]: Items } & ([MetaOf<View>] extends [never]
        ? Omit<Page, 'results'>
        : { [N in MetaOf<View>]: Omit<Page, 'results'> })
    : { [N in Around<View, 'list'>]: Page }

/** What a DELETE answers, which may show the object. */
export type Destroyed<View, Part> =
  StaticOf<View, 'statuses', Statuses> extends { readonly destroy: 200 } ? Enclosed<View, Part> : undefined

/** The parameter that asks for deleted objects, where some may see them. */
export type DeletedQuery<View> =
  HasDeletion<View, 'permissionClasses'> extends true
    ? { readonly deleted?: 'false' | 'only' | 'true' | undefined }
    : {}

/** True for a view set whose deleted objects some may see, or purge. */
export type HasDeletion<View, Option extends string> =
  StaticOf<View, 'softDelete', SoftDelete> extends { readonly [O in Option]: unknown } ? true : false

/** The field by which lists of objects name each of them. */
type KeyName<View> =
  string extends StaticOf<View, 'lookupField', string>
    ? 'id'
    : StaticOf<View, 'lookupField', string> extends infer Name extends string
      ? Name
      : 'id'

/** What names an object, as it is shown. */
export type KeyOf<View> =
  KeyName<View> extends keyof Shown<View>
    ? Shown<View>[KeyName<View>]
    : KeyName<View> extends keyof ModelOf<View>
      ? Wire<ModelOf<View>[KeyName<View>]>
      : number | string

/** What names an object in a list; members of it where its key has another name, or several. */
export type Named<View> =
  KeyName<View> extends keyof Shown<View> | keyof ModelOf<View>
    ? { readonly [K in KeyName<View>]: KeyOf<View> }
    : Readonly<Partial<Shown<View>>>

/** What a change calls an object: by its primary key, whatever stands on paths. */
export type ChangedId<View> =
  Shown<View> extends { readonly id: infer Id } ? (unknown extends Id ? number | string : Id) : number | string

/** The paginator of a view set. */
export type PaginatorOf<View> =
  StaticOf<View, 'paginationClass', null> extends infer P
    ? P extends abstract new (
        ...args: never[]
      ) => infer Instance
      ? Instance
      : P
    : undefined

/** An option of a paginator: as a subclass has set it, as it was made with, or its default. */
export type PageOption<Paginator, Name extends string, Default> = Paginator extends {
  readonly [N in Name]: infer Value
}
  ? string extends Value
    ? Paginator extends { readonly named?: infer Options }
      ? Options extends { readonly [N in Name]: infer Given }
        ? string extends Given
          ? Default
          : Given
        : Default
      : Default
    : Value
  : Default

/** One page of a list of such items. */
export type PageWith<View, Item> = EnclosedPage<View, PageBy<PaginatorOf<View>, Item>>

/** A walk over pages, or what is on them: never of bare lists, whose bodies do not say that there is more. */
export type Walk<View, T> =
  PaginatorOf<View> extends { readonly named?: { readonly countHeader: string } } ? never : AsyncIterable<T>

/** One page of a view set's list. */
export type PageOf<View> = PageWith<View, Shown<View>>

/** One page of such items, as a paginator cuts it. */
export type PageBy<P, Item> = P extends { readonly pageQueryParam: string } | { readonly offsetQueryParam: string }
  ? P extends { readonly named?: { readonly countHeader: string } }
    ? Item[]
    : {
        count: PageOption<P, 'count', 'exact'> extends 'none' ? null : number
        next: string | null
        previous: string | null
        results: Item[]
      }
  : P extends { readonly maxIdleSeconds: number }
    ? { cursor_id: string | null; results: Item[]; exhausted: boolean }
    : P extends { readonly cursorQueryParam: string }
      ? { next: string | null; previous: string | null; results: Item[] }
      : P extends null | undefined
        ? Item[]
        : unknown
