/** The methods of a serializer class that belong to its fields. */
import { ConfigurationError } from '../kernel/errors.js'
import { pascalCase } from '../kernel/naming.js'
import { nearMiss } from '../kernel/near-miss.js'
import type { SerializerClass } from './contract.js'
import { declaredFieldsOf } from './declared-fields.js'
import { SerializerMethodField } from './serializer-method-field.js'

/** The method that checks a field's values, where the class has it. */
export function hookOf(serializer: SerializerClass, name: string): string | undefined {
  const hook = hookName(name)
  return hasMethod(serializer, hook) ? hook : undefined
}

/** The method that computes a field. @throws {ConfigurationError} the class has none */
export function methodOf(serializer: SerializerClass, name: string, field: SerializerMethodField): string {
  const method = methodName(name, field)
  if (!hasMethod(serializer, method)) {
    throw new ConfigurationError(
      `${serializer.name}: field "${name}" is a SerializerMethodField without its method; add ${method}(object), or set methodName`,
    )
  }
  return method
}

/** Whether a method computes or checks a field; those that check are held to the fields by `checkHooks()`. */
export function belongsToField(serializer: SerializerClass, name: string): boolean {
  return /^validate\P{Ll}/u.test(name) || computes(serializer, name)
}

/**
 * @throws {ConfigurationError} a method is nearly the name of one that checks a field, or is assigned to instances (an arrow
 * function as a class field), so that nothing would call it
 */
export function checkHooks(serializer: SerializerClass, fields: readonly string[]): void {
  const hooks = new Set(fields.map(hookName))
  for (const name of assignedMethods(serializer)) {
    if (!hooks.has(name) && !(name in serializer.prototype)) continue
    throw new ConfigurationError(
      `${serializer.name}: ${name} is assigned to its instances, where nobody looks for it; write a method: ${name}(…) { … }`,
    )
  }
  for (const name of Object.getOwnPropertyNames(serializer.prototype)) {
    if (!name.startsWith('validate') || hooks.has(name) || name === 'validate') continue
    const near = nearMiss(name, hooks)
    if (near === undefined || name === `${near}s` || near === `${name}s` || computes(serializer, name)) continue
    throw new ConfigurationError(`${serializer.name}: nobody calls ${name}(); did you mean ${near}()? Else rename it`)
  }
}

/** Functions that are fields of the class's instances. */
function assignedMethods(serializer: SerializerClass): readonly string[] {
  try {
    const sample = new serializer() as unknown as Record<string, unknown>
    return Object.keys(sample).filter((name) => typeof sample[name] === 'function')
  } catch {
    // its constructor wants to be told something
    return []
  }
}

function computes(serializer: SerializerClass, method: string): boolean {
  const declared = [...declaredFieldsOf(serializer)]
  return declared.some(([name, field]) => field instanceof SerializerMethodField && methodName(name, field) === method)
}

function methodName(name: string, field: SerializerMethodField): string {
  return (field.options as { methodName?: string }).methodName ?? `get${pascalCase(name)}`
}

function hookName(field: string): string {
  return `validate${pascalCase(field)}`
}

function hasMethod(serializer: SerializerClass, name: string): boolean {
  return typeof (serializer.prototype as Record<string, unknown>)[name] === 'function'
}
