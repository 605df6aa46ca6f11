/** A client of the atlas. What it takes and returns is what `schema.d.ts` says, which is made from `/openapi.json`. */
import createClient from 'openapi-fetch'
import type { paths } from './schema.js'

/** Lists in queries are separated by commas: `?ordering=-population,name`. */
const querySerializer = { array: { style: 'form', explode: false } } as const

/** Of all formats that the atlas writes, the one that has types. */
type Json = 'application/json'

/** A client of the atlas at this address. */
export function createAtlasClient(baseUrl: string) {
  return createClient<paths, Json>({ baseUrl, querySerializer, headers: { Accept: 'application/json' satisfies Json } })
}
