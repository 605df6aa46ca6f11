/** View set files of `init`. */
import {
  commentText,
  docComment,
  importOf,
  list,
  literal,
  propertyName,
  quoted,
  sortImports,
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
    ...(lookup === undefined ? [] : [`  lookupField: ${literal(lookup)},\n`]),
    '  authenticationClasses,\n',
    '  permissionClasses: [IsAuthenticated],\n',
    '  paginationClass: PageNumberPagination,\n',
    ...(backends.length > 0 ? [`  filterBackends: [${backends.map(({ backend }) => backend).join(', ')}],\n`] : []),
    ...backends.map(
      ({ names, attribute }) => `${list(`  ${attribute}: `, names.map(literal), { indent: '  ', end: ',' })}\n`,
    ),
    ...(shown.length > 0
      ? [
          '  expandable: {\n',
          ...shown.map(
            ({ relation, target }) => `    ${propertyName(relation.name)}: ${target.className}Serializer,\n`,
          ),
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
