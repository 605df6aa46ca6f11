/** What an application's own parser has left of the files of a request. */

import type { Context } from '../http/context.js'
import { UploadedFile } from './uploads.js'

/** A file as koa-body, that is formidable, leaves it in `ctx.request.files`. */
interface ForeignFile {
  readonly filepath: string
  readonly originalFilename?: unknown
  readonly mimetype?: unknown
  readonly size?: unknown
}

/** The same of formidable 1, which koa-body 4 has. */
interface OldForeignFile {
  readonly path: string
  readonly name?: unknown
  readonly type?: unknown
  readonly size?: unknown
  readonly lastModifiedDate: unknown
}

/** A file as multer leaves it: alone, in a list or by name, on the disk, in memory or in a store. It stays the application's. */
export interface AppsFile {
  readonly fieldname: string
  readonly originalname?: unknown
  readonly mimetype?: unknown
  readonly size?: unknown
  readonly path?: unknown
  readonly buffer?: unknown
}

/** The files of a request that stay the application's. */
export function appsFiles({ request }: Context): readonly AppsFile[] {
  const { file, files } = request as { readonly file?: unknown; readonly files?: object }
  return [file, ...Object.values(files ?? {})].flat().filter(isApps)
}

function isApps(file: unknown): file is AppsFile {
  return typeof (file as AppsFile | null | undefined)?.fieldname === 'string'
}

/** What tells such a file from another: its content, but for that of a store. */
function sentAs({ fieldname, originalname, mimetype, size, path, buffer }: AppsFile): unknown {
  const isOnDisk = typeof path === 'string'
  const foreign = isOnDisk && fromForeign({ filepath: path, originalFilename: originalname, mimetype, size })
  return [fieldname, foreign || { originalname, mimetype, size, buffer }]
}

/** The files of a request that stay the application's, as what tells it from another; undefined where there are none. */
export function sentFiles(ctx: Context): readonly unknown[] | undefined {
  const apps = appsFiles(ctx)
  return apps.length > 0 ? apps.map(sentAs) : undefined
}

/** What an application's own parser has left in `ctx.request.files`, with each file as one of ours. */
export function mapFiles(
  files: unknown,
  each: (file: UploadedFile) => unknown = (file) => file,
): Record<string, unknown> {
  if (typeof files !== 'object' || files === null) return {}
  const map = (file: unknown): unknown => {
    if (Array.isArray(file)) return file.map(map)
    if (file instanceof UploadedFile) return each(file)
    const foreign = foreignFile(file)
    return foreign ? each(fromForeign(foreign)) : file
  }
  return Object.fromEntries(Object.entries(files).map(([name, file]) => [name, map(file)]))
}

function foreignFile(file: unknown): ForeignFile | undefined {
  const given = (file ?? {}) as Partial<ForeignFile & OldForeignFile>
  if (typeof given.filepath === 'string') return given as ForeignFile
  if (typeof given.path !== 'string' || !('lastModifiedDate' in given)) return undefined
  const { path, name, type, size } = given
  return { filepath: path, originalFilename: name, mimetype: type, size }
}

function fromForeign({ filepath, originalFilename, mimetype, size }: ForeignFile): UploadedFile {
  return new UploadedFile({
    filename: typeof originalFilename === 'string' ? originalFilename : '',
    mediaType: typeof mimetype === 'string' ? mimetype : 'application/octet-stream',
    size: typeof size === 'number' ? size : 0,
    path: filepath,
  })
}
