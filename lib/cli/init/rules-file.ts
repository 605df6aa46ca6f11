/** `rules.ts` of `init`: rules that names of columns suggest, as comments. */
import { commentText, importOf, literal, propertyName, quoted } from '../schema/source-text.js'
import { type SourceFile, sourceFile } from './header.js'
import type { Resource } from './resource.js'

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
  const member = propertyName(ofUser) === ofUser ? `?.${ofUser}` : `?.[${literal(ofUser)}]`
  return `${propertyName(column)}: user${member}`
}
