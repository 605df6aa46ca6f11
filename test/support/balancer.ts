/** A proxy that asks its processes whether they are ready, as HAProxy with `examples/cluster/haproxy.cfg` does, and faster. */
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Balancer {
  readonly port: number
  /** The processes that get requests, by their ports. */
  readonly ready: ReadonlySet<number>
  close(): Promise<void>
}

/** How often each process is asked, in milliseconds. */
export const INTERVAL = 100
/** After so many answers that are not 200 it gets nothing more. */
export const FALL = 2

/** Passes requests on to whichever of these ports of 127.0.0.1 is ready, one after the other; it repeats none. */
export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  const ready = new Set<number>()
  const failures = new Map<number, number>()
  const probes = new http.Agent({ keepAlive: true })
  const requests = new http.Agent({ keepAlive: true })
  const check = (port: number) => {
    const heard = (status: number | undefined) => {
      const count = status === 200 ? 0 : (failures.get(port) ?? FALL) + 1
      failures.set(port, count)
      if (count === 0) ready.add(port)
      else if (count >= FALL) ready.delete(port)
    }
    http
      .get({ host: '127.0.0.1', port, path: '/readyz', agent: probes, timeout: 1_000 }, (answer) => {
        answer.resume()
        heard(answer.statusCode)
      })
      .on('error', () => heard(undefined))
  }
  const timer = setInterval(() => ports.forEach(check), INTERVAL)
  let turn = 0
  const server = http.createServer((request, response) => {
    const open = [...ready]
    const port = open[turn++ % open.length]
    if (port === undefined) {
      response.writeHead(502).end('none is ready')
      return
    }
    const { method, url, headers } = request
    const passed = http.request({ host: '127.0.0.1', port, agent: requests, method, path: url, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    passed.on('error', (error) => {
      if (response.headersSent) response.destroy()
      else response.writeHead(502).end(String(error))
    })
    request.pipe(passed)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    ready,
    async close() {
      clearInterval(timer)
      probes.destroy()
      requests.destroy()
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
