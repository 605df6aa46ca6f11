/** The doors of the package, and what comes by each. */
import { readProjectFile } from '../../support/program.js'
import { type Entry, entryOf } from './entries.js'
import { exportsOf } from './syntax.js'

export interface PublicName {
  readonly name: string
  /** Where it is imported from, such as `koa-viewsets/jwt`. */
  readonly door: string
  readonly entry: Entry
}

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>
}

/** The files behind the doors, by what an application imports from. */
export function doorFiles(): readonly (readonly [door: string, path: string])[] {
  const { exports } = JSON.parse(readProjectFile('package.json')) as Manifest
  return Object.entries(exports).flatMap(([door, target]) => {
    if (typeof target === 'string') return []
    return [[door.replace('.', 'koa-viewsets'), target.types.replace('./dist/', '').replace('.d.ts', '.ts')] as const]
  })
}

/** Every public name that applications write, by the door that has it. What the main door keeps of others is of theirs. */
export function publicNames(): readonly PublicName[] {
  return exportedNames().filter(({ entry }) => !isInternal(entry))
}

/** The names of types that only compilers write. */
export function internalNames(): readonly string[] {
  return exportedNames().flatMap(({ name, entry }) => (isInternal(entry) ? name : []))
}

function isInternal({ doc }: Entry): boolean {
  return doc?.isInternal === true
}

function exportedNames(): readonly PublicName[] {
  return doorFiles().flatMap(([door, path]) =>
    [...exportsOf(path)].map(([name, place]) => ({ name, door, entry: entryOf(name, place) })),
  )
}
