/** The source of the package as trees, read by files. */
import { parseSync } from 'oxc-parser'
import { readProjectFile } from '../../support/program.js'

/** A node of the tree: its type, its place, and its children under names. */
export interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [name: string]: any
}

export interface SourceFile {
  readonly path: string
  readonly source: string
  readonly body: readonly Node[]
  /** Names that are imported or exported from elsewhere: the file, and the name there. */
  readonly links: ReadonlyMap<string, Place>
}

export interface Place {
  readonly path: string
  readonly name: string
}

const files = new Map<string, SourceFile>()

/** A file of lib or plugins. */
export function readSource(path: string): SourceFile {
  const known = files.get(path)
  if (known) return known
  const source = readProjectFile(path)
  const { program, errors } = parseSync(path, source)
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`)
  const body = program.body as unknown as Node[]
  const file = { path, source, body, links: linksOf(path, body) }
  files.set(path, file)
  return file
}

function linksOf(path: string, body: readonly Node[]): Map<string, Place> {
  const links = new Map<string, Place>()
  for (const node of body) {
    const from: string | undefined = node['source']?.value
    if (from === undefined || !from.startsWith('.')) continue
    const target = new URL(from.replace(/\.js$/, '.ts'), `file:///${path}`).pathname.slice(1)
    for (const { type, imported, local, exported } of node['specifiers'] ?? []) {
      const name = type === 'ExportSpecifier' ? local.name : (imported?.name ?? 'default')
      links.set(type === 'ExportSpecifier' ? exported.name : local.name, { path: target, name })
    }
  }
  return links
}

/** What a door exports, by name: a list by hand, or declarations of its own. */
export function exportsOf(path: string): ReadonlyMap<string, Place> {
  const found = new Map<string, Place>()
  const { body, links } = readSource(path)
  for (const node of body) {
    if (node.type !== 'ExportNamedDeclaration') continue
    for (const { exported } of node['specifiers']) {
      const place = links.get(exported.name)
      if (place) found.set(exported.name, place)
    }
    for (const name of namesOf(node['declaration'])) found.set(name, { path, name })
  }
  return found
}

/** The declarations of a name in a file, or in the file that it comes from: several where it is overloaded or merged. */
export function declarationsOf({ path, name }: Place): { file: SourceFile; nodes: readonly Node[] } | undefined {
  const file = readSource(path)
  const nodes = file.body.filter((node) => namesOf(node['declaration'] ?? node).includes(name))
  if (nodes.length > 0) return { file, nodes }
  const next = file.links.get(name)
  return next && declarationsOf(next)
}

function namesOf(node: Node | null | undefined): readonly string[] {
  if (!node) return []
  if (node.type === 'VariableDeclaration') return node['declarations'].map(({ id }: Node) => id.name)
  return node['id']?.name ? [node['id'].name] : []
}
