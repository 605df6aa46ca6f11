/**
 * One contender in a process of its own: `ours`, or `handwritten`. The parent's first message is the connection; the
 * answer is the port. To any later message the answer is the CPU time used so far, in microseconds.
 */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type Koa from 'koa'
import type { ClientConfig } from 'pg'
import { createHandwritten } from './handwritten.js'
import { createOurs } from './ours.js'

const CONTENDERS: Readonly<Record<string, (connection: ClientConfig) => Koa | Promise<Koa>>> = {
  ours: createOurs,
  handwritten: createHandwritten,
}

process.once('disconnect', () => process.exit())
const [connection] = (await once(process, 'message')) as [ClientConfig]
const create = CONTENDERS[process.argv[2] ?? '']
if (!create) throw new Error(`Say which contender: ${Object.keys(CONTENDERS).join(', ')}`)
const app = await create(connection)
const server = app.listen(0, '127.0.0.1')
await once(server, 'listening')
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send?.(user + system)
})
process.send?.((server.address() as AddressInfo).port)
