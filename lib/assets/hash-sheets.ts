/** Hashed names of style sheets, each after what it refers to (wire format, section 7). */
import { frame } from '../kernel/signing.js'
import { hashedName } from './asset-name.js'
import { contentHash } from './content-hash.js'
import { type FileReference, findReferences, lineOf, replaceReferences } from './css-references.js'
import type { Problems } from './find-sources.js'

/** A style sheet as it was read. */
export interface Sheet {
  readonly name: string
  /** The sheet's bytes, one character each. */
  readonly text: string
  readonly references: readonly FileReference[]
}

/** A sheet with its references rewritten. */
export interface HashedSheet {
  readonly name: string
  readonly hashed: string
  readonly content: Buffer
}

/**
 * Reads a sheet's references.
 * @param problems takes those that name no file
 */
export function readSheet(
  name: string,
  { path, content }: { path: string; content: Buffer },
  { has, problems }: { has: (target: string) => boolean; problems: Problems },
): Sheet {
  const text = content.toString('latin1')
  const references = findReferences(text, name)
  for (const { start, text: written, target } of references) {
    if (target !== undefined && has(target)) continue
    const reason = target === undefined ? 'leads out of the collected files' : `names no file (${target})`
    problems.push(`${path}:${lineOf(text, start)}: ${JSON.stringify(written)} ${reason}`)
  }
  return { name, text, references }
}

/**
 * Hashes all sheets. A sheet's hash is that of its content with the references rewritten; sheets that refer to each other
 * in a circle share one hash over all of them, since none could be rewritten first.
 * @param names hashed names of all other files; those of the sheets are added
 */
export function hashSheets(sheets: ReadonlyMap<string, Sheet>, names: Map<string, string>): HashedSheet[] {
  return groupByCircle(sheets).flatMap((group) => {
    const circle = circleOf(group)
    const members = group.map((sheet) => ({
      name: sheet.name,
      content: rewrite(sheet, (target) => (circle.has(target) ? undefined : names.get(target))),
    }))
    for (const { name, content } of members) {
      const hash = contentHash(
        circle.has(name) ? frame(name, ...members.flatMap((member) => [member.name, member.content])) : content,
      )
      names.set(name, hashedName(name, hash))
    }
    return group.map((sheet) => ({
      name: sheet.name,
      hashed: names.get(sheet.name) as string,
      content: rewrite(sheet, (target) => names.get(target)),
    }))
  })
}

function rewrite({ text, name, references }: Sheet, nameOf: (target: string) => string | undefined): Buffer {
  return Buffer.from(replaceReferences(text, name, references, nameOf), 'latin1')
}

/** The names in a circle: a group of several, or one sheet that refers to itself. */
function circleOf(group: readonly Sheet[]): ReadonlySet<string> {
  const [first] = group
  const circular = group.length > 1 || first?.references.some(({ target }) => target === first.name)
  return new Set(circular ? group.map(({ name }) => name) : [])
}

/** Sheets that reach each other, in one group each, by name; a group comes after those it refers to (Tarjan). */
function groupByCircle(sheets: ReadonlyMap<string, Sheet>): Sheet[][] {
  const groups: Sheet[][] = []
  const order = new Map<string, number>()
  const open: Sheet[] = []
  const visit = (sheet: Sheet): number => {
    const index = order.size
    order.set(sheet.name, index)
    open.push(sheet)
    let low = index
    for (const { target } of sheet.references) {
      const next = target === undefined ? undefined : sheets.get(target)
      if (next === undefined) continue
      if (!order.has(next.name)) low = Math.min(low, visit(next))
      else if (open.includes(next)) low = Math.min(low, order.get(next.name) as number)
    }
    if (low === index) {
      groups.push(open.splice(open.indexOf(sheet)).sort((left, right) => (left.name < right.name ? -1 : 1)))
    }
    return low
  }
  for (const sheet of sheets.values()) if (!order.has(sheet.name)) visit(sheet)
  return groups
}
