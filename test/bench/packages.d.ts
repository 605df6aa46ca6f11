/** The part we use of a package that brings no types. */
declare module 'autocannon' {
  export default function autocannon(options: {
    url: string
    connections: number
    /** Seconds. */
    duration: number
    requests: { path: string }[]
  }): Promise<{
    requests: { total: number }
    /** Seconds. */
    duration: number
    errors: number
    non2xx: number
  }>
}
