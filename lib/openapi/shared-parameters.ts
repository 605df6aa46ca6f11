/** Parameters of several operations as components of the document: a column has up to 18, and a list has all of its columns. */
import type { Steps } from '../kernel/turns.js'
import type { Operation, Parameter, PathItem, Reference } from './types.js'

interface Shared {
  readonly parameter: Parameter
  /** The resource that has it first. */
  readonly tag: string
  uses: number
}

export interface SharedParameters {
  readonly paths: ReadonlyMap<string, PathItem>
  /** By the names of components, in their order. */
  readonly parameters: Readonly<Record<string, Parameter>>
}

/** Puts references in the place of what several operations have; parameters of paths stay where they are. */
export function* shareParameters(paths: ReadonlyMap<string, PathItem>): Steps<SharedParameters> {
  const all = new Map<string, Shared>()
  const texts = new Map<Parameter, string>()
  for (const item of paths.values()) {
    for (const { parameters = [], tags } of Object.values(item)) {
      for (const parameter of parameters) {
        if ('$ref' in parameter || parameter.in === 'path') continue
        const text = JSON.stringify(parameter)
        texts.set(parameter, text)
        const known = all.get(text)
        if (known) known.uses++
        else all.set(text, { parameter, tag: tags[0] ?? '', uses: 1 })
      }
    }
    yield undefined
  }
  const names = namesOf(all)
  const shared = (operation: Operation): Operation => {
    const parameters = operation.parameters?.map((parameter): Parameter | Reference => {
      const name = names.get(texts.get(parameter as Parameter) ?? '')
      return name === undefined ? parameter : { $ref: PARAMETERS + name }
    })
    return parameters ? { ...operation, parameters } : operation
  }
  const referring = new Map<string, PathItem>()
  for (const [path, item] of paths) {
    referring.set(path, Object.fromEntries(Object.entries(item).map(([method, one]) => [method, shared(one)])))
    yield undefined
  }
  const parameters = [...names].map(([text, name]): [string, Parameter] => [name, (all.get(text) as Shared).parameter])
  return {
    paths: referring,
    parameters: Object.fromEntries(parameters.sort(([one], [other]) => (one < other ? -1 : 1))),
  }
}

/** The parameters of an operation, references followed. */
export function parametersOf(
  { parameters = [] }: Operation,
  components: { readonly parameters: Readonly<Record<string, Parameter>> },
): readonly Parameter[] {
  return parameters.flatMap((one) =>
    '$ref' in one ? (components.parameters[one.$ref.slice(PARAMETERS.length)] ?? []) : one,
  )
}

const PARAMETERS = '#/components/parameters/'

/** The names of components, by the texts of parameters: of several of one name the most used has it as it is. */
function namesOf(all: ReadonlyMap<string, Shared>): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  const taken = new Set<string>()
  const shared = [...all].filter(([, { uses }]) => uses > 1)
  for (const [text, { parameter, tag }] of shared.sort(([, one], [, other]) => other.uses - one.uses)) {
    const own = componentName(parameter.name)
    const candidates = [own, `${own}_of_${componentName(tag)}`]
    let name = candidates.find((one) => !taken.has(one))
    for (let number = 2; name === undefined; number++) {
      const numbered = `${candidates[1]}_${number}`
      if (!taken.has(numbered)) name = numbered
    }
    taken.add(name)
    names.set(text, name)
  }
  return names
}

/** A text as a component may be called. */
export function componentName(text: string): string {
  return text.replace(/[^A-Za-z0-9._-]/g, '_')
}
