/** Types as people read them: in a line, without what only the compiler needs. */
import type { Node, SourceFile } from './syntax.js'

export interface Parameters {
  readonly text: string
  /** The names of their types. */
  readonly names: readonly string[]
}

/** A text in one line. */
export function flat(text: string): string {
  return (
    text
      .replace(/\/\*.*?\*\/|\/\/[^\n]*/gs, '')
      // members of a type stand on lines of their own
      .replace(/(?<=[\w'"\])}>?])\n\s*(?=(?:readonly )?(?:\w+|\[[^\]]+\]|'[^']+')\??[:(])/g, '; ')
      .replace(/\s+/g, ' ')
      .replace(/([([<]) /g, '$1')
      .replace(/,? ([)\]>])/g, '$1')
      .replace(/^\| /, '')
      .trim()
  )
}

/** The parameters of a function, of which `owner` has the type parameters, too. */
export function parametersOf(file: SourceFile, node: Node, owner: Node): Parameters {
  const parameters: readonly Node[] = node['params']?.items ?? node['params'] ?? []
  const read = parameters.map((parameter) => readParameter(file, parameter, [node, owner]))
  return { text: read.map(({ text }) => text).join(', '), names: read.flatMap(({ name }) => name ?? []) }
}

function readParameter(file: SourceFile, parameter: Node, owners: readonly Node[]) {
  const isRest = parameter.type === 'RestElement'
  const left: Node = parameter['left'] ?? (isRest ? parameter['argument'] : parameter)
  const annotation: Node | undefined = left['typeAnnotation'] ?? parameter['typeAnnotation']
  const type = annotation && typeText(file, annotation['typeAnnotation'], ...owners)
  const isOptional = parameter.type === 'AssignmentPattern' || left['optional'] === true
  const label = left.type === 'Identifier' ? String(left['name']).replace(/^_/, '') : 'options'
  const text = `${isRest ? '...' : ''}${label}${isOptional ? '?' : ''}${type === undefined ? '' : `: ${type}`}`
  return { text, name: type && /^[A-Z]\w*(?=$|<)/.exec(type)?.[0] }
}

/** A type in a line: what a type parameter stands for is said in its place. */
export function typeText(file: SourceFile, node: Node, ...owners: readonly (Node | undefined)[]): string {
  const text = (one: Node): string => flat(file.source.slice(one.start, one.end))
  const parameters: Node[] = owners.flatMap((owner) => owner?.['typeParameters']?.params ?? [])
  const constraintOf = (name: string) => {
    const parameter = parameters.find((one) => (one['name'].name ?? one['name']) === name)
    return parameter?.['constraint'] ? text(parameter['constraint']) : undefined
  }
  if (node.type === 'TSTypeReference') {
    const name = text(node['typeName'])
    const given: readonly Node[] = node['typeArguments']?.params ?? []
    // options of which no name is wrong: the type of the options is the second
    if (name === 'ClosedOptions' && given[1]) return text(given[1])
    return given.length === 0 ? (constraintOf(name) ?? name) : text(node)
  }
  if (node.type === 'TSIntersectionType') {
    const parts: readonly Node[] = node['types']
    const constrained = parts.map((part) => constraintOf(text(part))).find((one) => one !== undefined)
    if (constrained !== undefined) return constrained
  }
  return text(node)
}
