/** What the reference says of each public name: its declaration, as it stands in the source. */
import { type Doc, docBefore } from './doc-comment.js'
import { declarationsOf, type Node, type Place, readSource, type SourceFile } from './syntax.js'
import { flat, parametersOf, typeText } from './type-text.js'

export type Kind = 'class' | 'mixin' | 'function' | 'interface' | 'type' | 'constant'

export interface Member {
  readonly name: string
  readonly kind: 'static' | 'property' | 'method' | 'static method'
  /** The type of a property, the whole line of a method. */
  readonly type: string
  readonly optional: boolean
  readonly doc: Doc | undefined
  /** Of a static: what it is set to. */
  readonly initial?: string
  /** It takes the place of a member of the base. */
  readonly overrides: boolean
}

export interface Entry {
  readonly name: string
  readonly kind: Kind
  readonly place: Place
  /** In a line each. */
  readonly signatures: readonly string[]
  readonly doc: Doc | undefined
  readonly members: readonly Member[]
  /** Names of types that its parameters have. */
  readonly takes: readonly string[]
  /** Names of classes and types that it extends. */
  readonly bases: readonly string[]
  /** Names of interfaces that it is held to. */
  readonly contracts: readonly string[]
}

/** The entry of a name, as the file that declares it has it. */
export function entryOf(name: string, place: Place): Entry {
  const found = declarationsOf(place)
  if (!found) throw new Error(`${place.path} has no ${place.name}`)
  const { file, nodes } = found
  const [first] = nodes.filter(({ declaration, type }) => (declaration?.type ?? type) !== 'TSInterfaceDeclaration')
  const node = first ?? nodes[0]
  if (!node) throw new Error(`${file.path} has no ${place.name}`)
  const declared: Node = node['declaration'] ?? node
  const doc = [node, ...nodes].map(({ start }) => docBefore(file.source, start)).find((one) => one !== undefined)
  const base = { name, place: { path: file.path, name: place.name }, doc }
  switch (declared.type) {
    case 'ClassDeclaration':
      return { ...base, ...classParts(file, declared, name) }
    case 'FunctionDeclaration':
    case 'TSDeclareFunction':
      return { ...base, ...functionParts(file, nodes, name) }
    case 'TSInterfaceDeclaration':
      return { ...base, ...interfaceParts(file, declared, name) }
    case 'TSTypeAliasDeclaration':
      return { ...base, ...aliasParts(file, declared, name) }
    case 'VariableDeclaration':
      return { ...base, ...constantParts(file, declared, place.name, name) }
    default:
      throw new Error(`${file.path}: ${name} is a ${declared.type}`)
  }
}

type Parts = Omit<Entry, 'name' | 'place' | 'doc'>

function classParts(file: SourceFile, node: Node, name: string): Parts {
  const members = node['body'].body as readonly Node[]
  const made = constructorOf(file, node)
  const above = node['superClass'] ? baseName(file, node['superClass']) : undefined
  const closed = above === 'ClosedField' ? closedOptions(file, node) : undefined
  const own = made && parametersOf(file, made['value'], node)
  const { text, names } =
    own ?? (closed ? { text: `options?: ${closed}`, names: [closed] } : { text: undefined, names: [] })
  const base = closed === undefined ? above : 'SerializerField'
  const kind = node['abstract'] ? 'abstract class' : 'class'
  return {
    kind: 'class',
    signatures: [
      `${kind} ${name}${base ? ` extends ${base}` : ''}`,
      ...(text === undefined ? [] : [`new ${name}(${text})`]),
    ],
    members: members.flatMap((member) => classMember(file, member, node)),
    takes: names,
    bases: base ? [base] : [],
    contracts: (node['implements'] ?? []).map((one: Node) => flat(file.source.slice(one.start, one.end))),
  }
}

/** What `ClosedField`, which has no public name, takes for a class: the last of its types, or the options of all fields. */
function closedOptions(file: SourceFile, node: Node): string {
  const [, , known]: readonly Node[] = node['superTypeArguments']?.params ?? node['superTypeParameters']?.params ?? []
  return known ? flat(file.source.slice(known.start, known.end)) : 'FieldOptions'
}

/** The constructor of a class, or of one above it that only their file knows. */
function constructorOf(file: SourceFile, node: Node): Node | undefined {
  const own = node['body'].body.find(({ kind }: Node) => kind === 'constructor')
  const above = innerClass(file, node['superClass'])
  return own ?? (above && constructorOf(file, above))
}

function innerClass(file: SourceFile, node: Node | undefined): Node | undefined {
  return file.body.find((one) => one.type === 'ClassDeclaration' && one['id'].name === node?.['name'])
}

/** What a class extends: what constants, and classes that only their file knows, stand for is said in their place. */
function baseName(file: SourceFile, node: Node): string {
  const inner = innerClass(file, node)
  if (inner?.['superClass']) return baseName(file, inner['superClass'])
  const constants = file.body.filter(({ type }) => type === 'VariableDeclaration')
  const text = flat(file.source.slice(node.start, node.end))
    .replace(/<.*>/g, '')
    .replace(/^ofModel\((.*)\)$/, '$1')
  return text.replace(/\w+/g, (name) => {
    const declared = constants.flatMap(({ declarations }) => declarations).find(({ id }: Node) => id.name === name)
    return declared?.init ? baseName(file, declared.init) : name
  })
}

function functionParts(file: SourceFile, nodes: readonly Node[], name: string): Parts {
  const functions: Node[] = nodes
    .map((node) => node['declaration'] ?? node)
    .filter(({ params }) => params !== undefined)
  const overloads = functions.filter(({ type }) => type === 'TSDeclareFunction')
  const shown = overloads.length > 0 ? overloads : functions
  const mixed = shown[0] && mixedClass(shown[0])
  const takes = shown.flatMap((one) => parametersOf(file, one, one).names)
  return {
    kind: mixed ? 'mixin' : 'function',
    signatures: mixed ? [`${name}(base)`] : shown.map((one) => callText(file, one, name, one)),
    members: mixed ? mixed['body'].body.flatMap((member: Node) => classMember(file, member, mixed)) : [],
    takes: mixed ? [] : takes,
    bases: [],
    contracts: [],
  }
}

/** The class that a mixin makes of its base. */
function mixedClass(node: Node): Node | undefined {
  const statements: readonly Node[] = node['body']?.body ?? []
  const values = statements.flatMap((one) => [
    one['argument'],
    ...(one['declarations'] ?? []).map(({ init }: Node) => init),
  ])
  const parameters: readonly string[] = (node['params'] ?? []).map(({ name }: Node) => name)
  return values.find((value) => value?.type === 'ClassExpression' && extendsOneOf(value.superClass, parameters))
}

/** True for a class of a parameter, `class extends base`, also by way of another mixin. */
function extendsOneOf(node: Node | null, parameters: readonly string[]): boolean {
  if (node?.type === 'CallExpression') return node['arguments'].some((one: Node) => extendsOneOf(one, parameters))
  return node?.type === 'Identifier' && parameters.includes(node['name'])
}

function interfaceParts(file: SourceFile, node: Node, name: string): Parts {
  const bases: string[] = node['extends'].map((one: Node) => flat(file.source.slice(one.start, one.end)))
  return {
    kind: 'interface',
    signatures: [`interface ${name}${bases.length > 0 ? ` extends ${bases.join(', ')}` : ''}`],
    members: node['body'].body.flatMap((member: Node) => interfaceMember(file, member, node)),
    takes: [],
    bases,
    contracts: [],
  }
}

/** Types that are a computation of the compiler's: what they come to is said by their comments. */
const COMPUTED = new Set(['TSConditionalType', 'TSMappedType'])

function aliasParts(file: SourceFile, node: Node, name: string): Parts {
  const value: Node = node['typeAnnotation']
  const parts: readonly Node[] = value['types'] ?? [value]
  const members = parts.flatMap((part) => (part.type === 'TSTypeLiteral' ? part['members'] : []))
  const isShort = value.type !== 'TSTypeLiteral' && !COMPUTED.has(value.type)
  const parameters: readonly Node[] = node['typeParameters']?.params ?? []
  const names = parameters.map((one) => one['name'].name ?? one['name'])
  const head = `type ${name}${names.length > 0 ? `<${names.join(', ')}>` : ''}`
  return {
    kind: 'type',
    signatures: [isShort ? `${head} = ${typeText(file, value, undefined)}` : head],
    members: members.flatMap((member: Node) => interfaceMember(file, member, node)).filter(isTold),
    takes: [],
    bases: [],
    contracts: [],
  }

  /** Of several shapes each is told by its own comment, and only what more there is by a table. */
  function isTold({ doc: comment }: Member): boolean {
    return value.type === 'TSTypeLiteral' || comment !== undefined
  }
}

function constantParts(file: SourceFile, node: Node, inner: string, name: string): Parts {
  const declared: Node = node['declarations'].find(({ id }: Node) => id.name === inner)
  const value: Node | undefined = declared['init']?.expression ?? declared['init']
  const properties: readonly Node[] = value?.type === 'ObjectExpression' ? value['properties'] : []
  const type = declared['id'].typeAnnotation
  return {
    kind: 'constant',
    signatures: [`const ${name}${type ? `: ${typeText(file, type.typeAnnotation, undefined)}` : ''}`],
    members: properties.map((property) => ({
      name: property['key'].name ?? String(property['key'].value),
      kind: 'property',
      type: flat(file.source.slice(property['value'].start, property['value'].end)),
      optional: false,
      doc: docBefore(file.source, property.start),
      overrides: false,
    })),
    takes: [],
    bases: [],
    contracts: [],
  }
}

function classMember(file: SourceFile, node: Node, owner: Node): Member[] {
  const { key, accessibility } = node
  if (!key || node['kind'] === 'constructor' || key.type === 'PrivateIdentifier' || node['computed']) return []
  if (accessibility === 'private') return []
  const doc = docBefore(file.source, node.start)
  if (doc?.isInternal) return []
  const name: string = key.name ?? key.value
  const common = { name, doc, overrides: node['override'] === true }
  const isMethod = node.type.endsWith('MethodDefinition')
  if (isMethod && node['kind'] === 'set') return []
  if (isMethod && node['kind'] !== 'get') {
    const kind = node['static'] ? 'static method' : 'method'
    return [{ ...common, kind, type: callText(file, node['value'], name, owner), optional: node['optional'] === true }]
  }
  const annotation: Node | undefined = isMethod ? node['value'].returnType : node['typeAnnotation']
  const value: Node | null = isMethod ? null : node['value']
  const initial = value ? flat(file.source.slice(value.start, value.end)) : undefined
  return [
    {
      ...common,
      kind: node['static'] ? 'static' : 'property',
      type: annotation ? typeText(file, annotation['typeAnnotation'], owner) : typeOfValue(file, value),
      optional: node['optional'] === true,
      ...(initial !== undefined && { initial }),
    },
  ]
}

function interfaceMember(file: SourceFile, node: Node, owner: Node): Member[] {
  const doc = docBefore(file.source, node.start)
  if (!node['key'] || node['computed'] || doc?.isInternal) return []
  const name: string = node['key'].name ?? node['key'].value
  const common = { name, doc, optional: node['optional'] === true, overrides: false }
  if (node.type === 'TSMethodSignature') return [{ ...common, kind: 'method', type: callText(file, node, name, owner) }]
  const annotation: Node | undefined = node['typeAnnotation']
  const type = annotation ? typeText(file, annotation['typeAnnotation'], owner) : 'unknown'
  return [{ ...common, kind: 'property', type }]
}

function callText(file: SourceFile, node: Node, name: string, owner: Node): string {
  const returned: Node | undefined = node['returnType']
  const given = returned ? typeText(file, returned['typeAnnotation'], owner) : undefined
  const type = given !== undefined && isOwnAffair(given, file) ? undefined : given
  return `${name}(${parametersOf(file, node, owner).text})${type === undefined ? '' : `: ${type}`}`
}

/** True for a type that is known to its file alone. */
function isOwnAffair(type: string, file: SourceFile): boolean {
  const name = /^\w+(?=<)/.exec(type)?.[0]
  if (name === undefined) return false
  return file.body.some((node) => node.type === 'TSTypeAliasDeclaration' && node['id'].name === name)
}

function typeOfValue(file: SourceFile, value: Node | null): string {
  if (value?.type === 'Identifier') {
    const found = declarationsOf({ path: file.path, name: value['name'] })
    const declared = found?.nodes.flatMap((node) => (node['declaration'] ?? node)['declarations'] ?? [])
    const constant = declared?.find(({ id }: Node) => id.name === value['name'])
    return found && constant ? typeOfValue(found.file, constant.init) : 'unknown'
  }
  if (value?.type === 'Literal') return value['value'] === null ? 'null' : typeof value['value']
  if (value?.type === 'UnaryExpression') return 'number'
  return 'unknown'
}

/** The entry of a type that a file names; undefined for those of other packages and type parameters. */
export function namedEntry(name: string, path: string): Entry | undefined {
  const place = readSource(path).links.get(name) ?? { path, name }
  return declarationsOf(place) && entryOf(name, place)
}
