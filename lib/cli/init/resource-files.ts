/** Files of `init` about a resource: its view set, its serializer, its rules. */
import {
  commentText,
  docComment,
  importOf,
  list,
  propertyKey,
  quoted,
  sortImports,
  stringLiteral,
} from '../schema/source-text.js'
import { type SourceFile, sourceFile } from './header.js'
import type { Actions, Resource, ResourceRelation } from './resource.js'

const FACTORIES: Readonly<Record<Actions, { readonly factory: string; readonly mixins: readonly string[] }>> = {
  all: { factory: 'modelViewSet', mixins: [] },
  read: { factory: 'readOnlyModelViewSet', mixins: [] },
  list: { factory: 'genericViewSet', mixins: ['ListMixin'] },
}

export function viewFile(resource: Resource): SourceFile {
  const { model, actions, limit, demanded } = resource
  const { className, fileName, table } = model
  const { factory, mixins } = FACTORIES[actions]
  const lookup = lookupField(resource)
  const backends = backendsOf(resource)
  const shown = expandable(resource)
  const statics = [
    `  serializerClass: ${className}Serializer,\n`,
    ...(mixins.length > 0 ? [`  mixins: [${mixins.join(', ')}],\n`] : []),
    ...(lookup === undefined ? [] : [`  lookupField: ${stringLiteral(lookup)},\n`]),
    '  authenticationClasses,\n',
    '  permissionClasses: [IsAuthenticated],\n',
    '  paginationClass: PageNumberPagination,\n',
    ...(backends.length > 0 ? [`  filterBackends: [${backends.map(({ backend }) => backend).join(', ')}],\n`] : []),
    ...backends.map(
      ({ names, attribute }) => `${list(`  ${attribute}: `, names.map(stringLiteral), { indent: '  ', end: ',' })}\n`,
    ),
    ...(shown.length > 0
      ? [
          '  expandable: {\n',
          ...shown.map(({ relation, target }) => `    ${propertyKey(relation.name)}: ${target.className}Serializer,\n`),
          '  },\n',
        ]
      : []),
  ]
  const comments = [
    ...(limit === undefined ? [] : [`// ${commentText(`Of ${quoted(table.name)}: ${limit}.`)}\n`]),
    ...(demanded.length > 0
      ? [
          `// ${commentText(`A new row needs ${demanded.map(quoted).join(', ')}: give it in performCreate(serializer).`)}\n`,
        ]
      : []),
  ]
  const body =
    `${comments.join('')}${docComment(`What clients do with ${quoted(table.name)}.`, '')}` +
    `export class ${className}ViewSet extends ${factory}(${className}, {\n${statics.join('')}}) {}\n`
  return sourceFile(`views/${fileName}.ts`, `${imports(resource, [factory, ...mixins])}\n${body}`)
}

/** Which parameters narrow and order a list. */
function backendsOf({ filters, searched, ordered }: Resource) {
  return [
    { backend: 'FieldFilter', attribute: 'filtersetFields', names: filters },
    { backend: 'SearchFilter', attribute: 'searchFields', names: searched },
    { backend: 'OrderingFilter', attribute: 'orderingFields', names: ordered },
  ].filter(({ names }) => names.length > 0)
}

/** Related objects that a request may ask for: those of which there is one. */
function expandable({ relations }: Resource): readonly ResourceRelation[] {
  return relations.filter(({ relation: { kind } }) => kind === 'belongs-to' || kind === 'has-one')
}

/** Any key is called `id`, unless it is one column and another is called so. */
function lookupField({ model, actions }: Resource): string | undefined {
  const [key, ...others] = model.key
  if (others.length > 0) return undefined
  const isAsked = actions === 'all' || actions === 'read'
  return isAsked && key !== 'id' && model.table.catalogue.columns.some(({ column }) => column === 'id')
    ? key
    : undefined
}

function imports(resource: Resource, names: readonly string[]): string {
  const { model } = resource
  const backends = backendsOf(resource).map(({ backend }) => backend)
  const ours = [...names, 'IsAuthenticated', 'PageNumberPagination', ...backends]
  const serializers = new Set([model, ...expandable(resource).map(({ target }) => target)])
  return sortImports(
    new Map([
      ['koa-viewsets', importOf(ours, 'koa-viewsets')],
      ['../authentication', importOf(['authenticationClasses'], '../authentication.js')],
      ['../models', importOf([model.className], `../models/${model.fileName}.js`)],
      ...[...serializers].map(({ className, fileName }): [string, string] => {
        const from = `../serializers/${fileName}.js`
        return [from, importOf([`${className}Serializer`], from)]
      }),
    ]),
  )
}

export function serializerFile(resource: Resource): SourceFile {
  const { model, fields, secrets, powers } = resource
  const { className, fileName, table } = model
  const imports = sortImports(
    new Map([
      ['koa-viewsets', importOf(['modelSerializer'], 'koa-viewsets')],
      ['../models', importOf([className], `../models/${fileName}.js`)],
    ]),
  )
  const names = list(
    '  fields: ',
    fields.map(({ name }) => stringLiteral(name)),
    { indent: '  ', end: ',' },
  )
  const left = secrets.map(
    (name) =>
      `  // ${commentText(`${quoted(name)} sounds like a secret, and is left out: add it if clients may see it`)}\n`,
  )
  const kept =
    powers.length > 0 ? list('  readOnlyFields: ', powers.map(stringLiteral), { indent: '  ', end: ',' }) : ''
  const told = powers.map(
    (name) => `  // ${commentText(`${quoted(name)} says who may do more: no client writes it`)}\n`,
  )
  const body =
    `${docComment(`What clients see of ${quoted(table.name)}, and write.`, '')}` +
    `export class ${className}Serializer extends modelSerializer(${className}, {\n${names}\n${left.join('')}${told.join('')}${kept && `${kept}\n`}${shownObjects(resource)}}) {}\n`
  return sourceFile(`serializers/${fileName}.ts`, `${imports}\n${body}`)
}

/** How to show objects in place of keys: as a comment, since classes that import each other need an order. */
function shownObjects({ model, fields, powers, relations }: Resource): string {
  const isWritten = (name: string) => fields.some((one) => one.name === name) && !powers.includes(name)
  const lines = relations.flatMap(({ relation, target }) => {
    const [column = '', ...others] = relation.own
    const [key, ...keys] = target.key
    const isKey = keys.length === 0 && others.length === 0 && relation.other[0] === key
    if (relation.kind !== 'belongs-to' || target === model || !isKey || !isWritten(column)) return []
    const { className } = target
    const field = `new PrimaryKeyRelatedField({ queryset: ${className}, shownBy: ${className}Serializer })`
    return [`  //   ${commentText(`${propertyKey(relation.name)}: ${field},`)}\n`]
  })
  if (lines.length === 0) return ''
  return `  // These take keys and show objects, in place of the foreign keys above:\n  // declaredFields: {\n${lines.join('')}  // },\n`
}

/** Resources of which a column suggests whose rows they are. */
export function suggestsRule({ actions, whose: { owner, tenant, isSelf } }: Resource): boolean {
  return owner !== undefined || tenant !== undefined || (isSelf && actions === 'all')
}

/** None where nothing suggests one. */
export function rulesFile(resources: readonly Resource[]): readonly SourceFile[] {
  const suggested = resources.filter(suggestsRule)
  if (suggested.length === 0) return []
  const imports = suggested.map(({ model }) => importOf([model.className], `./models/${model.fileName}.js`))
  const commented = [importOf(['rule'], 'koa-viewsets/rules'), ...imports].map((line) => `// ${line}`)
  return [
    sourceFile(
      'rules.ts',
      `${importOf(['APIRouterOptions'], 'koa-viewsets', { typeOnly: true })}\n${commented.join('')}\n${ABOUT}` +
        `export const rules: NonNullable<APIRouterOptions['rules']> = [\n${suggested.map(ruleLines).join('')}]\n`,
    ),
  ]
}

const ABOUT = `/**
 * Who sees and writes which rows, on every path that leads to them. These are guesses by names of columns, so that none of
 * them holds yet: every caller that \`authentication.ts\` lets in has all rows. Remove the \`//\` of those that are right,
 * and of their imports, and write others.
 */
`

function ruleLines({ model, idColumn, whose: { owner, tenant, isSelf } }: Resource): string {
  const name = quoted(model.table.name)
  const mine = tenant === undefined ? [] : [equals(tenant, tenant)]
  const own = owner !== undefined ? [equals(owner, 'id')] : isSelf ? [equals(idColumn[0] as string, 'id')] : []
  const sentences = [
    ...(tenant === undefined ? [] : [`${quoted(tenant)} of ${name} sounds like a tenant`]),
    ...(owner === undefined ? [] : [`${quoted(owner)} of ${name} sounds like an owner`]),
    ...(isSelf ? [`rows of ${name} are people: without a rule, each changes all others`] : []),
  ]
  const read = condition(mine.length > 0 ? mine : own)
  const written = condition([...mine, ...own])
  const options = [
    ...(mine.length > 0 || !isSelf ? [`read: ${read}`] : []),
    ...(own.length > 0 && (mine.length > 0 || isSelf) ? [`update: ${written}`, `delete: ${written}`] : []),
  ]
  const call =
    options.length === 1
      ? `  // rule(${model.className}, { ${options[0]} }),\n`
      : `  // rule(${model.className}, {\n${options.map((one) => `  //   ${one},\n`).join('')}  // }),\n`
  return `  // ${commentText(sentences.join('; '))}\n${call}`
}

function condition(parts: readonly string[]): string {
  return `({ user }) => ({ ${parts.join(', ')} })`
}

function equals(column: string, ofUser: string): string {
  const member = propertyKey(ofUser) === ofUser ? `?.${ofUser}` : `?.[${stringLiteral(ofUser)}]`
  return `${propertyKey(column)}: user${member}`
}
