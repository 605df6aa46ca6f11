/** Downloads of stored files by those who may read their rows. */
import { mediaTypeOf } from '../fields/file-upload-field.js'
import type { UploadStorage } from '../fields/upload-storage.js'
import { sendFile } from '../http/send-file.js'
import { ConfigurationError, NotFound } from '../kernel/errors.js'
import { snakeCase } from '../kernel/naming.js'
import { isRecord } from '../kernel/records.js'
import { attachment } from '../renderers/csv-renderer.js'
import { FileRenderer } from '../renderers/file-renderer.js'
import { serializerPlan } from '../serializers/plan.js'
import { representFound } from '../views/steps/selection.js'
import type { GenericViewSet } from '../views/view-set.js'
import { ViewSetAction } from './actions.js'

/**
 * An action that sends stored files, at `/<prefix>/<column>/<key>`, to callers to whom the view set shows their URL: it finds
 * the row that has the key, as a detail route finds one by its own, and asks permissions, rules of rows and of fields. Anything
 * else is 404. Set the storage's `baseUrl` to that path.
 *
 * It answers ranges, `If-None-Match` and `If-Modified-Since`, and sends files as downloads, in a sandbox.
 * @param column the property of the model that holds the key; rows are found by it, so that it wants an index
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
      lookupField: column,
      lookupUrlKwarg: column,
      parserClasses: [],
      rendererClasses: [FileRenderer],
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
  const object = (await view.getObject()) as unknown as Readonly<Record<string, unknown>>
  const key = object[column]
  const shown = await representFound(view, object)
  const names = serializerPlan(view.getSerializerClass()).readable.filter(({ source }) => source.join('.') === column)
  if (names.length === 0) {
    throw new ConfigurationError(
      `${view.constructor.name}: downloadAction("${column}") sends what the serializer shows, and it shows no field of that column; add one with the storage`,
    )
  }
  // what is hidden or masked has no URL to follow
  const isShown =
    typeof key === 'string' && isRecord(shown) && names.some(({ name }) => shown[name] === storage.url(key))
  const file = isShown ? await storage.open?.(key) : undefined
  if (!file) throw new NotFound()
  const extension = String(key).split('.').at(-1) ?? ''
  sendFile(view.ctx, file, {
    tag: `"${String(key)}"`,
    mediaType: mediaTypeOf(extension),
    disposition: attachment(column, extension),
  })
}
