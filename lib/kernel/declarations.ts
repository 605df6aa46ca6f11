/** Checks statics and methods of an application's class for mistakes: without `static`, of a wrong kind, or misspelt. */
import { ConfigurationError } from './errors.js'
import { isGenerator, type Kinds, wrongKind } from './kinds.js'
import { nearMiss } from './near-miss.js'
import { hasOptions } from './option-kinds.js'

/** A class whose statics and methods describe it. */
type Described = abstract new () => object

/** Classes whose statics are named alike. */
type Family = 'view' | 'serializer'

/** What to do in place of a name, by the name. */
type Advice = Readonly<Record<string, string>>

interface Description {
  /** What its statics are. */
  readonly kinds: Kinds
  readonly family: Family | undefined
  readonly isCalled: IsCalled | undefined
}

/** Whether something that the class declares calls a method by its name. */
type IsCalled = (owner: never, name: string) => boolean

/** The classes of ours that applications extend. */
const descriptions = new WeakMap<object, Description>()
/** Statics that mean nothing without one of our classes, by name. */
const exclusive = new Map<string, { readonly family: Family; readonly to: string }>()

/** Where each class of ours says of which copy of the package it is. */
const COPY = Symbol.for('koa-viewsets')
const THIS_COPY = {}

/** Names that nothing reads or calls, by the class of ours, and what says here what another framework says by them. */
const replaced = new WeakMap<object, Advice>()

/** Methods that a class may take away by making them undefined. */
const dispensable = new Set<string>()

/** Classes without mistakes. */
const checked = new WeakSet<object>()

/** Members that every class has. */
const EVERYWHERE = new Set(['length', 'name', 'prototype', 'constructor'])

/**
 * Makes the statics and methods of a class of ours known, and returns it.
 * @param kinds what its statics are
 * @param isCalled tells the methods that are called by names which the class declares
 */
export function described<Class extends object>(
  made: Class,
  kinds: Kinds = {},
  family?: Family,
  isCalled?: IsCalled,
): Class {
  descriptions.set(made, { kinds, family, isCalled })
  Object.defineProperty(made, COPY, { value: THIS_COPY })
  return made
}

/** Says that statics mean nothing without a class of ours. @param to its name */
export function exclusiveTo(to: string, family: Family, kinds: Kinds): void {
  for (const name of Object.keys(kinds)) exclusive.set(name, { family, to })
}

/** Lets classes take away methods, `destroy = undefined`. */
export function mayBeUndefined(names: readonly string[]): void {
  for (const name of names) dispensable.add(name)
}

/** Refuses statics and methods of a class by names that Django REST framework knows, where they would mean nothing. */
export function insteadOf(made: object, names: Advice): void {
  replaced.set(made, names)
}

/**
 * Checks a class, once: that its statics are of their kinds, that nothing is set on instances which a static should say,
 * and that no name is nearly one that is read.
 * @param calls names of methods that are called besides
 * @throws {ConfigurationError} naming class, attribute and fix
 */
export function checkDeclarations(owner: object, calls: readonly string[] = []): void {
  if (checked.has(owner)) return
  const chain = chainOf(owner)
  const ours = chain.filter((one) => descriptions.has(one))
  if (ours.length === 0) {
    refuseOtherCopy(owner)
    return
  }
  const kinds = mergedKinds(ours)
  if (ours.some((one) => descriptions.get(one)?.family !== undefined)) {
    const made = sampleOf(owner as Described)
    refuseInstanceFields(owner as Described, made, kinds)
    refuseRedeclared(made, sampleOf(ours[0] as Described))
  }
  for (const [name, kind] of Object.entries(kinds)) checkKind(owner, name, wrongKind(staticOf(owner, name), kind))
  const isCalled = (name: string) =>
    calls.includes(name) || ours.some((one) => descriptions.get(one)?.isCalled?.(owner as never, name))
  for (const one of chain) {
    if (descriptions.has(one)) continue
    refuseReplaced(one, ours, isCalled)
    refuseMisspeltStatic(one, ours, kinds)
    refuseWrongMethod(one, ours, isCalled)
  }
  checked.add(owner)
}

/** @throws {ConfigurationError} a class is of another copy of the package, as linked folders and bundles bring them */
export function refuseOtherCopy(owner: unknown): void {
  const { [COPY]: copy = THIS_COPY, name } = Object(owner) as { [COPY]?: unknown; name?: unknown }
  if (copy === THIS_COPY) return
  throw new ConfigurationError(
    `${String(name)} is of another copy of koa-viewsets, whose classes are not those of this one; \`npm ls koa-viewsets\` shows where it lies`,
  )
}

/**
 * Checks what a policy was made with: what a class of ours reads is a property of the instance.
 * @throws {ConfigurationError} one is written in another way, or as a static
 */
export function checkProperties(made: object): void {
  const own: unknown = made.constructor
  const above = typeof own === 'function' ? (Object.getPrototypeOf(own) as Described) : undefined
  // nothing of the application's is made once more
  if (typeof own !== 'function' || !above || !hasOptions(above)) return
  refuseRedeclared(made, above.prototype)
  const known = Object.keys(sampleOf(above))
  const check = (name: string, said: string, value: unknown) => {
    const meant = known.includes(name) ? name : nearMiss(name, known, () => 0)
    if (meant === undefined || value === (made as Record<string, unknown>)[meant]) return
    throw new ConfigurationError(`${own.name}: nobody reads ${said}; write ${meant} = …`)
  }
  for (const [name, value] of Object.entries(made)) check(name, name, value)
  for (const name of Object.getOwnPropertyNames(own)) {
    if (!(EVERYWHERE.has(name) || name in above)) check(name, `static ${name}`, staticOf(own, name))
  }
  // a getter or a method of a name that our constructor sets
  const hidden = Object.getOwnPropertyNames(own.prototype).find((name) => known.includes(name))
  if (hidden !== undefined)
    throw new ConfigurationError(`${own.name}: nobody asks for ${hidden}(); write ${hidden} = …`)
}

/** What the statics of a class are, by name. */
export function staticKinds(owner: object): Kinds {
  return mergedKinds(chainOf(owner).filter((one) => descriptions.has(one)))
}

/** Checks a value that a static has for a part of a class. @throws {ConfigurationError} `where` says which */
export function checkStatic(where: string, owner: object, name: string, value: unknown): void {
  const kind = staticKinds(owner)[name]
  const wrong = kind && wrongKind(value, kind)
  if (wrong !== undefined) throw new ConfigurationError(`${where}: ${name} ${wrong}`)
}

/** Gives a class without a name one for messages, after the class of ours that it extends. */
export function nameAnonymous(owner: object): void {
  const ours = chainOf(owner).find((one) => descriptions.has(one) && nameOf(one) !== '' && nameOf(one) !== 'mixed')
  if (nameOf(owner) === '' && ours) Object.defineProperty(owner, 'name', { value: `Anonymous${nameOf(ours)}` })
}

function checkKind(owner: object, name: string, wrong: string | undefined): void {
  if (wrong !== undefined) throw new ConfigurationError(`${nameOf(owner)}: static ${name} ${wrong}`)
}

/** The class and those above it. */
function chainOf(owner: object): readonly object[] {
  const chain: object[] = []
  for (let one: object | null = owner; one && one !== Function.prototype; one = Object.getPrototypeOf(one) as object) {
    chain.push(one)
  }
  return chain
}

function mergedKinds(ours: readonly object[]): Kinds {
  return Object.assign({}, ...ours.map((one) => descriptions.get(one)?.kinds)) as Kinds
}

function staticOf(owner: object, name: string): unknown {
  return (owner as Record<string, unknown>)[name]
}

function nameOf(owner: object): string {
  return (owner as { name: string }).name
}

/** A name by which another framework says what is said otherwise here, such as permissions that nobody would ask. */
function refuseReplaced(one: object, ours: readonly object[], isCalled: (name: string) => boolean): void {
  const known = Object.assign({}, ...ours.map((made) => replaced.get(made))) as Advice
  const methods = Object.getOwnPropertyNames((one as Described).prototype).filter((name) => !isCalled(name))
  for (const name of [...Object.getOwnPropertyNames(one), ...methods]) {
    const meant = Object.hasOwn(known, name) ? name : nearMiss(name, Object.keys(known), () => 0)
    if (meant === undefined) continue
    throw new ConfigurationError(`${nameOf(one)}: ${name} means nothing here; ${known[meant]}, or rename it`)
  }
}

/** A static that only another class reads, and one that is nearly one of ours. */
function refuseMisspeltStatic(one: object, ours: readonly object[], kinds: Kinds): void {
  const statics = new Set(ours.flatMap((made) => Object.getOwnPropertyNames(made)))
  const families = new Set(ours.map((made) => descriptions.get(made)?.family))
  for (const name of Object.getOwnPropertyNames(one)) {
    if (EVERYWHERE.has(name) || statics.has(name)) continue
    const elsewhere = exclusive.get(name)
    if (elsewhere && families.has(elsewhere.family)) {
      throw new ConfigurationError(
        `${nameOf(one)}: static ${name} is read by ${elsewhere.to} only; extend it, or rename the static`,
      )
    }
    const near = nearMiss(name, Object.keys(kinds))
    if (near !== undefined) {
      throw new ConfigurationError(`${nameOf(one)}: nobody reads static ${name}; did you mean ${near}? Else rename it`)
    }
  }
}

/** A method that is nearly one of ours, and that nothing calls, and one that is called and would do nothing. */
function refuseWrongMethod(one: object, ours: readonly object[], isCalled: (name: string) => boolean): void {
  const methods = new Set(ours.flatMap((made) => Object.getOwnPropertyNames((made as Described).prototype)))
  for (const name of Object.getOwnPropertyNames((one as Described).prototype)) {
    const isOurs = methods.has(name)
    if (isGenerator(methodOf(one, name)) && (isOurs || dispensable.has(name) || isCalled(name))) {
      throw new ConfigurationError(
        `${nameOf(one)}: ${name}() is a generator, which does nothing when it is called; write it without the *`,
      )
    }
    if (EVERYWHERE.has(name) || isOurs) continue
    const near = nearMiss(name, methods)
    // several of what a method gives
    if (near === undefined || name === `${near}s` || isCalled(name)) continue
    throw new ConfigurationError(`${nameOf(one)}: nobody calls ${name}(); did you mean ${near}()? Else rename it`)
  }
}

function methodOf(one: object, name: string): unknown {
  return Object.getOwnPropertyDescriptor((one as Described).prototype, name)?.value
}

/**
 * Finds `context!: Mine` that was written without `declare`: where fields are defined, it makes undefined of what is there.
 * @param usual what our class has by its names: an instance, or else its prototype
 * @throws {ConfigurationError}
 */
export function refuseRedeclared(made: object, usual: object): void {
  for (const [name, value] of Object.entries(made)) {
    if (value !== undefined || dispensable.has(name) || !has(usual, name)) continue
    throw new ConfigurationError(
      `${made.constructor.name}: the field ${name} makes undefined of what is there; write declare ${name}, which only tells its type`,
    )
  }
}

/** True for a member that is no field without a value; what computes one is not asked. */
function has(usual: object, name: string): boolean {
  const field = Object.getOwnPropertyDescriptor(usual, name)
  return field ? field.value !== undefined : name in usual
}

/** Finds `permissionClasses = […]` that was written without `static`: on instances nobody reads it. */
function refuseInstanceFields(owner: Described, made: object, kinds: Kinds): void {
  for (const name of Object.keys(made)) {
    if (!Object.hasOwn(kinds, name) || name in owner.prototype) continue
    throw new ConfigurationError(
      `${owner.name}: ${name} is set on instances, where nobody reads it; write static ${name} = …`,
    )
  }
}

/** An instance as any is made. A constructor that needs a request is left to that, and its prototype stands for it. */
function sampleOf(owner: Described): object {
  try {
    return new (owner as new () => object)()
  } catch {
    return owner.prototype
  }
}
