/** What one request may have besides its data, as types. */

/** The HTTP methods of requests. */
export type Method = 'GET' | 'QUERY' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** What one request may have besides its data. */
export interface RequestOptions {
  /** Ends the request. */
  readonly signal?: AbortSignal | undefined
  /** Milliseconds to wait for the answer. @default that of the client */
  readonly timeout?: number
  /** Headers to send besides those of the client. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Options of a request of the client that writes. */
export interface WriteOptions extends RequestOptions {
  /**
   * The version of the object that is to be written: the `etag` of an earlier answer. Null, as where CORS does not expose the
   * header `ETag`, writes whichever version there is; a view set with `requireIfMatch` refuses that.
   */
  readonly ifMatch?: string | null | undefined
}
