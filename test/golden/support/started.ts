/** Programs that serve themselves, run inside the test's process: their router, their app and their port. */
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import Koa from 'koa'
import { APIRouter } from 'koa-viewsets'
import { Model } from 'objection'
import { vi } from 'vitest'

export interface Started {
  readonly api: APIRouter
  readonly port: number
  close(): Promise<void>
}

/** Imports a program that listens on PORT, with this environment. */
export async function startInside(load: () => Promise<unknown>, env: Record<string, string>): Promise<Started> {
  const before = { ...process.env }
  Object.assign(process.env, { PORT: '0', ...env })
  const listens = vi.spyOn(Koa.prototype, 'listen')
  const prepares = vi.spyOn(APIRouter.prototype, 'prepare')
  try {
    await load()
    const server = listens.mock.results[0]?.value as Server
    const [api] = prepares.mock.contexts as [APIRouter]
    if (!server.listening) await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const knex = Model.knex()
    return {
      api,
      port,
      async close() {
        const closed = once(server, 'close')
        server.close()
        server.closeAllConnections()
        await closed
        await knex.destroy()
      },
    }
  } finally {
    process.env = before
    listens.mockRestore()
    prepares.mockRestore()
  }
}
