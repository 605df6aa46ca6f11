/** What can be wrong with a serializer class before any request, and without its database (promise I23). */

import { ArrayField } from '../fields/array-field.js'
import { type FieldOptions, SerializerField } from '../fields/field.js'
import { HiddenField, ReadOnlyField } from '../fields/own-value-fields.js'
import { RelatedField } from '../fields/related-field.js'
import { checkDeclarations, nameAnonymous } from '../kernel/declarations.js'
import { ConfigurationError } from '../kernel/errors.js'
import { checkOptions } from '../kernel/option-kinds.js'
import type { AnySerializer, SerializerClass } from './contract.js'
import { declaredFieldsOf } from './declared-fields.js'
import { methodOf } from './hooks.js'
import { NestedSerializer } from './nested-serializer.js'
import { SerializerMethodField } from './serializer-method-field.js'
import { serializerIn, shownBy } from './shown-by.js'

/** Checks a serializer class and those nested in it, each once. @throws {ConfigurationError} naming class, attribute and fix */
export function checkSerializer(serializer: SerializerClass, seen = new Set<SerializerClass>()): void {
  if (seen.has(serializer)) return
  seen.add(serializer)
  nameAnonymous(serializer)
  checkDeclaredFields(serializer)
  for (const field of declaredFieldsOf(serializer).values()) {
    const nested = serializerIn(field)
    if (nested) checkSerializer(nested, seen)
  }
  serializer.checkFields()
}

/** What is shown is written at once. @throws {ConfigurationError} it would be a promise, which is shown as `{}` */
function checkOutput(where: string, shown: Pick<AnySerializer | SerializerField, 'toRepresentation'>): void {
  if (Object.prototype.toString.call(shown.toRepresentation) !== '[object AsyncFunction]') return
  throw new ConfigurationError(`${where}: toRepresentation() is asynchronous; return the value, at once`)
}

/** Checks what one class declares. @throws {ConfigurationError} */
export function checkDeclaredFields(serializer: SerializerClass): void {
  checkDeclarations(serializer)
  checkOutput(serializer.name, serializer.prototype as AnySerializer)
  const readOnly = new Set(serializer.readOnlyFieldNames())
  for (const [name, field] of declaredFieldsOf(serializer)) {
    checkField(`${serializer.name}: declaredFields.${name}`, field)
    if (field instanceof SerializerMethodField) methodOf(serializer, name, field)
    if (field.writeOnly && readOnly.has(name)) {
      const kind = field instanceof HiddenField ? 'a HiddenField' : 'which is writeOnly'
      throw new ConfigurationError(
        `${serializer.name}: readOnlyFields names "${name}", ${kind}, and would leave nothing of it; leave it out`,
      )
    }
  }
}

/** @throws {ConfigurationError} an option is unknown, of another kind, or contradicts another */
export function checkField(where: string, field: SerializerField): void {
  const { name } = field.constructor
  checkDeclarations(field.constructor)
  checkOptions(`${where}: ${name}`, field.constructor, field.options)
  checkOutput(`${where}: ${name}`, field)
  checkContradictions(`${where}: ${name}`, field.options)
  if (field instanceof ArrayField) checkChild(`${where}: ${name}`, field.options as { readonly child: unknown })
  const shows: unknown = shownBy(field)
  if (shows !== undefined && !isSerializer(shows)) {
    throw new ConfigurationError(`${where}: ${name}: shownBy is no serializer class; write shownBy: SomeSerializer`)
  }
  if (field instanceof NestedSerializer && !isSerializer(field.serializerClass)) {
    throw new ConfigurationError(
      `${where}: ${name} has no serializer class; write new NestedSerializer(SomeSerializer, { … })`,
    )
  }
}

const TAKES_NONE = [HiddenField, ReadOnlyField, SerializerMethodField]
/** What is said of a name among others, and nothing of an item. */
const OF_NAMES = ['source', 'readOnly', 'writeOnly', 'default'] as const

function checkChild(
  where: string,
  { child, readOnly }: { readonly child: unknown; readonly readOnly?: boolean },
): void {
  if (!(child instanceof SerializerField))
    throw new ConfigurationError(`${where}: child is no field; write child: new SomeField(…)`)
  if (!readOnly) checkTakenChild(where, child)
  checkField(`${where}.child`, child)
}

/** Items that are taken. What a serializer does for fields of its own, such as to look up keys, nobody does for them. */
function checkTakenChild(where: string, child: SerializerField): void {
  const fail = (problem: string) => {
    throw new ConfigurationError(`${where}${problem}`)
  }
  const { name } = child.constructor
  if (child instanceof RelatedField || child instanceof NestedSerializer) {
    fail(`: child is a ${name}, which no list checks; declare it in place of the list, with many: true`)
  }
  if (TAKES_NONE.some((kind) => child instanceof kind)) {
    fail(`: child is a ${name}, which takes no values; give a field that does`)
  }
  const idle = OF_NAMES.find((option) => child.options[option] !== undefined)
  if (idle) fail(`.child: ${name}: ${idle} says nothing of an item; give it to the list`)
}

/** True for a class that is a serializer. */
export function isSerializer(value: unknown): value is SerializerClass {
  return typeof value === 'function' && typeof (value as Partial<SerializerClass>).describeFields === 'function'
}

/** Options that cannot both be meant. @throws {ConfigurationError} */
export function checkContradictions(where: string, options: FieldOptions): void {
  const { writeOnly, required, source } = options
  const isDotted = source?.includes('.') === true
  const readOnly = options.readOnly === true || isDotted
  const only = isDotted ? 'has a dotted source, which is only read,' : 'is readOnly'
  const fail = (problem: string) => {
    throw new ConfigurationError(`${where}: ${problem}`)
  }
  if (readOnly && writeOnly === true) fail(`${only} and writeOnly; leave out one of them`)
  if (readOnly && required === true) fail(`${only} and required; leave out one of them`)
  if (required === true && options.default !== undefined) {
    fail('is required, so that its default is never used; leave out one of them')
  }
}
