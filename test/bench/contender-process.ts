/**
 * One contender in a process of its own. The parent's first message is a `Start`, and the answer to it the port; then
 * each message is a question of `Questions`. With several processes they share the port, and figures are their sum.
 */
import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { Session } from 'node:inspector/promises'
import type { AddressInfo } from 'node:net'
import type Koa from 'koa'
import type { ClientConfig } from 'pg'
import type { Answers, Start } from './contenders.js'
import { createHandwritten } from './handwritten.js'
import { createOurs } from './ours.js'
import { createScaled } from './scaled.js'

const CONTENDERS: Readonly<Record<Start['name'], (connection: ClientConfig, start: Start) => Koa | Promise<Koa>>> = {
  ours: createOurs,
  handwritten: createHandwritten,
  scaled: createScaled,
}

/** Short enough to see what takes a few microseconds of a request. */
const SAMPLING_MICROSECONDS = 200

process.once('disconnect', () => process.exit())
const told = once(process, 'message')
// what is sent to a worker before it listens is lost
if (cluster.isWorker) process.send?.('listening')
const [start] = (await told) as [Start]
if (cluster.isPrimary && start.processes > 1) await share(start)
else await serve(start)

async function serve(start: Start): Promise<void> {
  const app = await CONTENDERS[start.name](start.connection, start)
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const profiler = new Session()
  const answers: { readonly [K in keyof Answers]: () => Answers[K] | Promise<Answers[K]> } = {
    cpu() {
      const { user, system } = process.cpuUsage()
      return user + system
    },
    async 'start profile'() {
      profiler.connect()
      await profiler.post('Profiler.enable')
      await profiler.post('Profiler.setSamplingInterval', { interval: SAMPLING_MICROSECONDS })
      await profiler.post('Profiler.start')
      return null
    },
    async 'stop profile'() {
      const { profile } = await profiler.post('Profiler.stop')
      profiler.disconnect()
      return profile
    },
  }
  process.on('message', (question: keyof Answers) => void reply(answers[question]()))
  process.send?.((server.address() as AddressInfo).port)
}

/** Workers answer alike, so that theirs is the port, and only their CPU time is added up. */
async function share(start: Start): Promise<void> {
  const workers = Array.from({ length: start.processes }, () => cluster.fork())
  await Promise.all(workers.map((worker) => once(worker, 'message')))
  const [port] = await Promise.all(workers.map((worker) => askWorker(worker, start)))
  const total = async (question: keyof Answers) => {
    const used = await Promise.all(workers.map((worker) => askWorker(worker, question)))
    return used.reduce((sum, one) => sum + one, 0)
  }
  process.on('message', (question: keyof Answers) => void reply(total(question)))
  process.send?.(port)
}

async function reply(answer: unknown): Promise<void> {
  process.send?.(await answer)
}

async function askWorker(worker: Worker, question: Start | keyof Answers): Promise<number> {
  const answer = once(worker, 'message')
  worker.send(question)
  const [number] = (await answer) as [number]
  return number
}
