/** A receiver of webhooks on a port of its own, which checks what it gets as customers would. */
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { onTestFinished, vi } from 'vitest'

export interface ReceivedWebhook {
  readonly id: string
  readonly body: any
  readonly headers: http.IncomingHttpHeaders
  readonly at: number
}

/** What it answers: a status, or nothing at all. */
export type Answer = (received: ReceivedWebhook, response: http.ServerResponse) => number | undefined

export interface WebhookReceiver {
  readonly url: string
  readonly received: readonly ReceivedWebhook[]
  answer: Answer
  /** Waits for so many. */
  receive(count: number): Promise<readonly ReceivedWebhook[]>
}

/** Listens until the test ends that calls it. */
export async function receiveWebhooks(answer: Answer = () => 204): Promise<WebhookReceiver> {
  const received: ReceivedWebhook[] = []
  const server = http.createServer((request, response) => {
    void (async () => {
      let text = ''
      for await (const piece of request.setEncoding('utf8')) text += piece
      const webhook = {
        id: String(request.headers['webhook-id']),
        body: JSON.parse(text),
        headers: { ...request.headers, text } as http.IncomingHttpHeaders,
        at: performance.now(),
      }
      received.push(webhook)
      const status = receiver.answer(webhook, response)
      if (status !== undefined) response.writeHead(status).end()
    })()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const receiver: WebhookReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    answer,
    async receive(count) {
      await vi.waitFor(
        () => {
          if (received.length < count) throw new Error(`received ${received.length} of ${count}`)
        },
        { timeout: 10_000, interval: 10 },
      )
      return received
    },
  }
  return receiver
}

/** True where a receiver that has this secret takes the webhook for genuine. */
export function isGenuine(secret: string, { headers }: ReceivedWebhook): boolean {
  try {
    new Webhook(secret).verify(String(headers['text']), headers as Record<string, string>)
    return true
  } catch {
    return false
  }
}
