/** A serializer class narrowed to some of its fields, or widened by related objects: what `?fields=` and `?expand=` ask for. */

import type { SerializerField } from '../fields/field.js'
import { ConfigurationError } from '../kernel/errors.js'
import { didYouMean } from '../kernel/near-miss.js'
import { oncePer, RecentMap } from '../kernel/once-per.js'
import { ownMember } from '../kernel/records.js'
import type { RelationDescription } from '../models/model-description.js'
import { nameColumns } from '../renderers/renderer.js'
import type { FieldsDescription, SerializerClass } from './contract.js'
import { CountField, isRelatedCount, type RelatedCount } from './count-field.js'
import { neededRelations } from './needed-relations.js'
import { NestedSerializer } from './nested-serializer.js'
import { serializerPlan } from './plan.js'
import { type Serializer, writesByPlan } from './serializer.js'

/**
 * Related objects that a client may ask for, by the relation's name, and the serializers that show them, or by any name their
 * number (`count('reviews')`). A path leads on: `{ author: AuthorSerializer, 'author.country': CountrySerializer }`. Annotate
 * with this type to leave subclasses free.
 */
export type Expandable = Readonly<Record<string, Expansion>>

/** What stands for related objects: their serializer, a nested list of them, or their number. */
// biome-ignore lint/suspicious/noExplicitAny: lists of any objects
export type Expansion = SerializerClass | NestedSerializer<any, any> | RelatedCount

/** The serializer that an expansion shows related objects by; undefined for their number. */
export function expandedBy(expansion: Expansion | undefined): SerializerClass | undefined {
  if (expansion instanceof NestedSerializer) return (expansion as NestedSerializer).serializerClass
  return isRelatedCount(expansion) ? undefined : expansion
}

/** @internal What of an object is asked for. The names are checked: they are the serializer's and the view's own. */
export interface Selection {
  /** Fields to show; undefined for all. */
  readonly fields: ReadonlySet<string> | undefined
  /** Names of `Expandable` to show besides. */
  readonly expand: ReadonlySet<string>
}

/** Classes kept for one serializer; clients choose the combinations. */
const MOST_CLASSES = 100

const classesOf = oncePer<Expandable, (serializer: SerializerClass) => RecentMap<SerializerClass>>(() =>
  oncePer(() => new RecentMap(MOST_CLASSES)),
)

/**
 * The serializer class that shows what is asked for. It is for output only: nothing can be written through it.
 * A class that writes its objects in its own way (`toRepresentation`, `data`) writes them whole, and what was not asked for
 * is taken out afterwards.
 */
export function selectFields(
  serializer: SerializerClass,
  expandable: Expandable,
  { fields, expand }: Selection,
): SerializerClass {
  if (!fields && expand.size === 0) return serializer
  const known = classesOf(expandable)(serializer)
  const shown = serializerPlan(serializer).readable.map(({ name }) => name)
  // two ways to write one question are one class
  const kept = fields && shown.filter((name) => fields.has(name))
  const expanded = Object.keys(expandable).filter((name) => expand.has(name))
  const key = JSON.stringify([kept ?? null, expanded])
  let made = known.get(key)
  if (!made) {
    made = makeClass(serializer, expandable, { fields: kept && new Set(kept), expand: new Set(expanded) })
    known.set(key, made)
  }
  return made
}

function makeClass(
  serializer: SerializerClass,
  expandable: Expandable,
  { fields, expand }: Selection,
): SerializerClass {
  const base = serializer as typeof Serializer
  const heads = new Set([...expand].map((name) => headOf(name)))
  const isWhole = !writesByPlan(base.prototype)
  const isKept = (name: string) => !fields || fields.has(name) || heads.has(name)
  const made = class extends base {
    static override describeFields(): FieldsDescription {
      const { fields: all, model } = super.describeFields()
      const readable = new Set(serializerPlan(serializer).readable.map(({ name }) => name))
      const shown = new Map([...all].filter(([name]) => readable.has(name) && (isWhole || isKept(name))))
      for (const head of heads) {
        const relation = model?.relations.get(head)
        shown.set(head, expandField(serializer, expandable, { head, expand, field: shown.get(head), relation }))
      }
      return { fields: shown, model, relations: neededRelations(serializer, isKept) }
    }
  }
  if (isWhole && fields) keepOnly(made.prototype, isKept)
  Object.defineProperty(made, 'name', { value: serializer.name })
  return made
}

interface Expanding {
  readonly head: string
  readonly expand: ReadonlySet<string>
  /** The field of this name that the serializer shows anyway. */
  readonly field: SerializerField | undefined
  readonly relation: RelationDescription | undefined
}

/** The nested field of an expansion, with what is to be shown inside it. */
function expandField(
  serializer: SerializerClass,
  expandable: Expandable,
  { head, expand, field, relation }: Expanding,
): SerializerField {
  const declared = ownMember(expandable, head)
  if (isRelatedCount(declared)) {
    if (!field) return new CountField(declared)
    throw new ConfigurationError(
      `expandable["${head}"] counts "${declared.path}", and ${serializer.name} has a field of that name; take another one`,
    )
  }
  const nested = declared instanceof NestedSerializer ? declared : field instanceof NestedSerializer ? field : undefined
  const own = expandedBy(declared) ?? nested?.serializerClass
  if (!own || !(relation || field instanceof NestedSerializer)) {
    const fix = didYouMean(head, serializerPlan(serializer).model?.relations.keys() ?? [])
    throw new ConfigurationError(
      `expandable names "${head}", which is no relation of ${serializer.name}'s model${fix || '; correct the name, or add the relation'}`,
    )
  }
  const inner = new Set([...expand].filter((name) => headOf(name) === head && name !== head).map(tailOf))
  const shown = selectFields(own, insideOf(expandable, head), { fields: undefined, expand: inner })
  if (nested) return new NestedSerializer(shown, { ...(nested.options as object), readOnly: true })
  return new NestedSerializer(shown, { readOnly: true, many: relation?.single === false })
}

/** True when a name of `expandable` leads somewhere from this serializer. */
export function canExpand(serializer: SerializerClass, expandable: Expandable, name: string): boolean {
  const { readable, model } = serializerPlan(serializer)
  const head = headOf(name)
  const field = readable.find((bound) => bound.name === head)?.field
  const nested = field instanceof NestedSerializer ? field : undefined
  const declared = ownMember(expandable, head)
  if (isRelatedCount(declared)) return name === head && model?.relations.has(declared.path) === true
  const own = expandedBy(declared) ?? nested?.serializerClass
  if (!own || !(nested || model?.relations.has(head))) return false
  return name === head || canExpand(own, insideOf(expandable, head), tailOf(name))
}

/** Which serializer shows which other ones, for each name of `expandable`, along its paths. */
export function expansionsOf(
  serializer: SerializerClass,
  expandable: Expandable,
): readonly { readonly owner: SerializerClass; readonly name: string; readonly expansion: Expansion }[] {
  const heads = new Set(Object.keys(expandable).map(headOf))
  return [...heads].flatMap((name) => {
    const field = serializerPlan(serializer).readable.find((bound) => bound.name === name)?.field
    const declared = ownMember(expandable, name)
    if (declared && !canExpand(serializer, expandable, name)) return []
    const own = declared ? [{ owner: serializer, name, expansion: declared }] : []
    const nested = field instanceof NestedSerializer ? field.serializerClass : undefined
    const shown = declared ? expandedBy(declared) : nested
    return shown ? [...own, ...expansionsOf(shown, insideOf(expandable, name))] : own
  })
}

/** What may be expanded inside expansions, by their names. */
const insides = oncePer((expandable: Expandable): ReadonlyMap<string, Expandable> => {
  const found = new Map<string, Expandable>()
  for (const [name, expansion] of Object.entries(expandable)) {
    const head = headOf(name)
    if (name !== head) found.set(head, { ...found.get(head), [tailOf(name)]: expansion })
  }
  return found
})

const NOTHING: Expandable = {}

/** What may be expanded inside an expansion. */
function insideOf(expandable: Expandable, head: string): Expandable {
  return insides(expandable).get(head) ?? NOTHING
}

function headOf(name: string): string {
  return name.split('.', 1)[0] as string
}

function tailOf(name: string): string {
  return name.slice(headOf(name).length + 1)
}

/** Takes the keys that are not kept out of what the class writes. */
function keepOnly(prototype: Serializer, isKept: (name: string) => boolean): void {
  const base = Object.getPrototypeOf(prototype) as Serializer
  const pick = (written: unknown) =>
    typeof written === 'object' && written !== null && !Array.isArray(written)
      ? Object.fromEntries(Object.entries(written).filter(([name]) => isKept(name)))
      : written
  Object.defineProperty(prototype, 'data', {
    configurable: true,
    get(this: Serializer) {
      const written = Reflect.get(base, 'data', this) as unknown
      const kept = this.many && Array.isArray(written) ? written.map(pick) : pick(written)
      const columns = this.plan.readable.filter(({ name }) => isKept(name))
      return typeof kept === 'object' && kept !== null ? nameColumns(kept, columns) : kept
    },
  })
}
