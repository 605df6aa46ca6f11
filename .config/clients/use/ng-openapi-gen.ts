/** ng-openapi-gen, with Angular's HttpClient over fetch, as there is no page. */
import '@angular/compiler'
import { HttpClient, HttpErrorResponse, type HttpRequest, HttpResponse } from '@angular/common/http'
import { firstValueFrom, from } from 'rxjs'
import { authorBulkCreate } from '../generated/ng-openapi-gen/shop/fn/author/author-bulk-create.js'
import { authorCreate$Json } from '../generated/ng-openapi-gen/shop/fn/author/author-create-json.js'
import { authorList } from '../generated/ng-openapi-gen/shop/fn/author/author-list.js'
import { bookRetrieve } from '../generated/ng-openapi-gen/shop/fn/book/book-retrieve.js'
import { scanCreate } from '../generated/ng-openapi-gen/shop/fn/scan/scan-create.js'
import type { Trip } from './trip.js'

export function trip(url: string): Trip {
  const http = new HttpClient({ handle: (request) => from(answerTo(request)) })
  return {
    list: async () =>
      (await firstValueFrom(authorList(http, url, { ordering: ['name'] }))).body.results.map(({ name }) => name),
    retrieve: async (id) => (await firstValueFrom(bookRetrieve(http, url, { id }))).body.title,
    create: async (name) => (await firstValueFrom(authorCreate$Json(http, url, { body: { name } }))).body.name,
    upload: async (title, file) => (await firstValueFrom(scanCreate(http, url, { body: { title, file } }))).body.file,
    refuse: () =>
      firstValueFrom(authorCreate$Json(http, url, { body: { name: 'Ada' } })).then(
        () => 0,
        ({ status }: HttpErrorResponse) => status,
      ),
    bulk: async (names) =>
      (await firstValueFrom(authorBulkCreate(http, url, { body: names.map((name) => ({ name })) }))).body.length,
  }
}

async function answerTo(request: HttpRequest<unknown>): Promise<HttpResponse<unknown>> {
  const type = request.detectContentTypeHeader()
  const answer = await fetch(request.urlWithParams, {
    method: request.method,
    headers: { accept: 'application/json', ...(type !== null && { 'content-type': type }) },
    body: request.serializeBody() as string | FormData | null,
  })
  const { status } = answer
  if (status >= 400) throw new HttpErrorResponse({ status })
  return new HttpResponse({ status, body: (await answer.json()) as unknown })
}
