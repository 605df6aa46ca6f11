/** Declarations of properties and enums as TypeScript, for models and for types of rows. */

import type { ModelProperty } from './describe-schema.js'
import type { EnumType } from './enum-types.js'
import { docComment, importOf, propertyKey, stringLiteral, unionType } from './source-text.js'

/** A property with what the database says of it. @param head what stands before its name */
export function propertyLine(
  { name, type, isReadonly, isGenerated, comment }: ModelProperty,
  { head = '' }: { readonly head?: string } = {},
): string {
  const described = comment === undefined ? '' : docComment(comment, '  ')
  const held = isGenerated ? `Generated<${type}>` : type
  return `${described}  ${head}${isReadonly ? 'readonly ' : ''}${propertyKey(name)}: ${held}\n`
}

/** The import of what such properties name of the package; empty where that is nothing. */
export function typeImport(properties: readonly ModelProperty[]): string {
  const names = [
    ...(properties.some(({ isGenerated }) => isGenerated) ? ['Generated'] : []),
    ...(properties.some(({ column: { type, element } }) => (element ?? type) === 'interval') ? ['Interval'] : []),
  ]
  return names.length > 0 ? importOf(names, 'koa-viewsets', { typeOnly: true }) : ''
}

/** Types that the database has made of lists of strings, a declaration each. */
export function enumTexts(enums: readonly EnumType[]): readonly string[] {
  return enums.map(({ name, labels }) => `${unionType(`export type ${name} =`, labels.map(stringLiteral))}\n`)
}
