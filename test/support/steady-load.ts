/** Requests that come all the time, over connections that stay open where the server lets them. */
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

const PAUSE = 30

export interface Answer {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly text: string
}

/** Sends a request. What is neither 200 nor 201 counts as failed, as does no answer: then it is undefined. */
export type Send = (
  method: string,
  path: string,
  body?: object,
  headers?: http.OutgoingHttpHeaders,
) => Promise<Answer | undefined>

export interface SteadyLoad {
  /** How many answers there were so far. */
  answered(): number
  /** Returns once all that was sent is answered. */
  end(): Promise<{ readonly failed: readonly string[]; readonly answered: number; readonly written: number }>
}

/** Runs each of these again and again, some milliseconds apart, all beside each other. */
export function startLoad(port: number, workers: readonly ((send: Send) => Promise<unknown>)[]): SteadyLoad {
  const agent = new http.Agent({ keepAlive: true, maxSockets: workers.length })
  const failed: string[] = []
  let [isOn, answered, written] = [true, 0, 0]
  const send: Send = (method, path, body, headers = {}) =>
    new Promise((resolve) => {
      const request = http.request({ host: '127.0.0.1', port, agent, method, path, headers }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', (error) => failed.push(`${method} ${error}`))
        response.on('close', () => {
          answered++
          const { statusCode: status = 0 } = response
          const text = Buffer.concat(chunks).toString()
          if (status === 201) written++
          else if (status !== 200) failed.push(`${method} ${status} ${text}`)
          resolve({ status, headers: response.headers, text })
        })
      })
      request.on('error', (error) => {
        failed.push(`${method} ${error}`)
        resolve(undefined)
      })
      if (body) request.setHeader('Content-Type', 'application/json')
      request.end(body && JSON.stringify(body))
    })
  const running = workers.map(async (work) => {
    while (isOn) {
      await work(send)
      // what runs beside it is to have its turn
      await sleep(PAUSE)
    }
  })
  return {
    answered: () => answered,
    async end() {
      isOn = false
      await Promise.all(running)
      agent.destroy()
      return { failed, answered, written }
    },
  }
}
