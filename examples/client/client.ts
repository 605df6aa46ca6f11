/** A client of the atlas. What it takes and returns is what `schema.d.ts` says, which is made from `/openapi.json`. */
import createClient from 'openapi-fetch'
import type { paths } from './schema.js'

/** Lists in queries are separated by commas: `?ordering=-population,name`. */
const querySerializer = { array: { style: 'form', explode: false } } as const

/** A client of the atlas at this address. */
export function createAtlasClient(baseUrl: string) {
  return createClient<paths>({ baseUrl, querySerializer })
}
