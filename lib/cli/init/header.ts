/** The header of files that `koa-viewsets init` has written. */

/** As long as it stands first, `--force` writes the file anew. */
export const HEADER =
  '// Written by `npx koa-viewsets init`. Delete this line when you edit the file: then --force leaves it alone.'

/** A file to write. */
export interface SourceFile {
  /** Below the folder of the application, its parts joined by `/`. */
  readonly path: string
  readonly text: string
}

export function sourceFile(path: string, body: string): SourceFile {
  return { path, text: `${HEADER}\n${body}` }
}
