/** Writes the files of an application: all or, where one of them is somebody else's, none. */
import { dirname, join } from 'node:path'
import { checkFolder, hasHeader, makeFolder, readPlain, writeOwn } from '../schema/own-files.js'
import { HEADER, type SourceFile } from './header.js'

export interface PlannedFile {
  readonly path: string
  readonly text: string
  readonly state: 'new' | 'rewrite' | 'kept'
}

export interface FilePlan {
  readonly files: readonly PlannedFile[]
}

/**
 * Looks at what there is.
 * @param options.force whether files that carry the header are written anew; others are kept
 * @throws Error a file exists, or a part of the path is a link
 */
export async function planFiles(
  folder: string,
  files: readonly SourceFile[],
  { force }: { readonly force: boolean },
): Promise<FilePlan> {
  const planned: PlannedFile[] = []
  const existing: string[] = []
  for (const folderOfFile of new Set(files.map(({ path }) => join(folder, dirname(path)))))
    await checkFolder(folderOfFile)
  for (const file of files) {
    const path = join(folder, file.path)
    const before = await readPlain(path)
    if (before !== undefined && !force) existing.push(path)
    const state = before === undefined ? 'new' : hasHeader(before, HEADER) ? 'rewrite' : 'kept'
    planned.push({ path, text: file.text, state })
  }
  if (existing.length === 0) return { files: planned }
  throw new Error(
    [
      ...existing.map((path) => `${path} exists`),
      'nothing is written; --force writes files anew that still begin with the line of this command, --out names another folder',
    ].join('\n'),
  )
}

/** @throws Error a file or folder cannot be written */
export async function writePlan({ files }: FilePlan): Promise<void> {
  for (const { path, text, state } of files) {
    if (state === 'kept') continue
    await makeFolder(dirname(path))
    await writeOwn(path, text)
  }
}
