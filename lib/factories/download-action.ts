/** Downloads of stored files by those who may read their rows. */

import type { Model } from 'objection'
import { mediaTypeOf } from '../fields/file-upload-field.js'
import type { UploadStorage } from '../fields/upload-storage.js'
import { addWhere } from '../filters/filter.js'
import { sendFile } from '../http/send-file.js'
import { ConfigurationError, NotFound } from '../kernel/errors.js'
import { snakeCase } from '../kernel/naming.js'
import { isRecord } from '../kernel/records.js'
import { escaped } from '../models/table-reference.js'
import { attachment } from '../renderers/csv-renderer.js'
import { FileRenderer } from '../renderers/file-renderer.js'
import { showsOf } from '../serializers/plan.js'
import { serializerClassOf } from '../views/generic-view.js'
import { lookedUp } from '../views/steps/read-object.js'
import { representFound } from '../views/steps/represent.js'
import { visibleQuery } from '../views/steps/visible-query.js'
import type { GenericViewSet } from '../views/view-set.js'
import { ViewSetAction } from './actions.js'

/**
 * An action that sends stored files, at `/<prefix>/<column>/<key>`, to callers to whom the view set shows their URL: it finds
 * the row that has the key, or a list that holds it, and asks permissions, rules of rows and of fields. Anything else is 404.
 * Set the storage's `baseUrl` to that path: `prepare()` refuses another one, as it does a view set that is nested, since a
 * key's URL names no parent, and one whose serializer shows no field of the column.
 *
 * It answers ranges, `If-None-Match` and `If-Modified-Since`, and sends files as downloads, in a sandbox.
 * @param column the property of the model that holds the key, or a list of keys; rows are found by it, so that it wants an index
 * @throws {ConfigurationError} the storage has no `open()`
 * @example
 * const contracts = new FileSystemStorage({ root: '/var/lib/library/contracts', baseUrl: '/api/books/contract' })
 * class BookViewSet extends modelViewSet(Book, { …, actions: { contract: downloadAction('contract', contracts) } }) {}
 */
export function downloadAction(column: string, storage: UploadStorage): ViewSetAction {
  if (typeof storage?.open !== 'function') {
    throw new ConfigurationError(
      `downloadAction(): the storage of "${column}" has no open(key), which reads a file; take FileSystemStorage, or write one`,
    )
  }
  return new ViewSetAction(
    false,
    {
      methods: ['GET'],
      urlPath: `${snakeCase(column)}/{${column}}`,
      parserClasses: [],
      rendererClasses: [new FileRenderer({ column, url: (key) => storage.url(key) })],
      strictAccept: false,
      responses: {
        200: 'The file.',
        206: 'A range of it.',
        304: 'Not changed since the client read it.',
        404: 'There is no such file, or not for this caller.',
        416: 'The range lies behind the end.',
      },
    },
    function (this: GenericViewSet) {
      return download(this, column, storage)
    },
  )
}

async function download(view: GenericViewSet, column: string, storage: UploadStorage): Promise<void> {
  const key = (view.ctx['params'] as Readonly<Record<string, string>>)[column] ?? ''
  const object = await findByFile(view, column, key)
  await view.loadRelated([object])
  await view.checkObjectPermissions(object)
  const shown = await representFound(view, object)
  const names = showsOf(serializerClassOf(view), column)
  // what is hidden or masked has no URL to follow
  const isShown = isRecord(shown) && names.some(({ name }) => [shown[name]].flat().includes(storage.url(key)))
  const file = isShown ? await storage.open?.(key) : undefined
  if (!file) throw new NotFound()
  const extension = key.split('.').at(-1) ?? ''
  sendFile(view.ctx, file, {
    tag: `"${encodeURIComponent(key)}"`,
    mediaType: mediaTypeOf(extension),
    disposition: attachment(column, extension),
  })
}

/** @throws NotFound no row that the caller sees has the key */
async function findByFile(view: GenericViewSet, property: string, key: string): Promise<Model> {
  const { column, type, sqlType } = view.resource.model.columns.get(property) ?? { column: property }
  const sql = type === 'array' ? `?? @> array[?]::${escaped(sqlType ?? '')}` : '?? = ?'
  const query = visibleQuery(view)
  addWhere(query, ({ table }) => ({ sql, bindings: [`${table}.${column}`, key] }))
  const [found] = await lookedUp(Promise.resolve(query.limit(1)) as unknown as Promise<readonly Model[]>)
  if (!found) throw new NotFound()
  return found
}
