/** The part we use of a package that brings no types. */
declare module 'autocannon' {
  export interface LoadRequest {
    path: string
    method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
    headers?: Record<string, string>
    body?: string
    /** Changes a request before it is sent. */
    setupRequest?: (request: LoadRequest) => LoadRequest
  }

  export default function autocannon(options: {
    url: string
    connections: number
    /** Seconds. */
    duration: number
    requests: LoadRequest[]
  }): Promise<{
    requests: { total: number }
    /** Seconds. */
    duration: number
    errors: number
    non2xx: number
  }>
}
