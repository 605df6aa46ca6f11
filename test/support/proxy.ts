/** A server's socket that can be cut, fall silent, or be slow. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type NetConnectOpts, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg, { type ClientConfig } from 'pg'

export interface ServerProxy {
  /** The folder that its socket is in; empty for a port. */
  readonly folder: string
  /** Closes all connections, and refuses new ones. */
  cut(): Promise<void>
  /** Takes connections and bytes, and passes none on. */
  silence(): void
  /** Sends RST to all connections, and to each new one as soon as it says something. TCP only. */
  reset(): void
  /** Passes on what the server says so many milliseconds later. */
  delay(milliseconds: number): void
  /** Passes on one byte a second, each way. */
  trickle(): void
  /** Passes everything on again; what was disturbed is closed, but for what was only late. */
  restore(): Promise<void>
  remove(): Promise<void>
}

type Mode = 'open' | 'silent' | 'reset' | 'trickle'

/** How it passes on what comes: at once, or a byte a second. */
interface Pipe {
  take(data: Buffer): void
  end(): void
}

/** Stands before a server of PostgreSQL. @returns the connection through it */
export async function startDatabaseProxy(
  database: ClientConfig,
): Promise<{ proxy: ServerProxy; through: ClientConfig }> {
  const { host, port, user = '', password, database: name = '' } = new pg.Client(database)
  const file = `.s.PGSQL.${port}`
  const proxy = await startProxy(host.startsWith('/') ? { path: join(host, file) } : { host, port }, file)
  return { proxy, through: { host: proxy.folder, port, user, password: password ?? '', database: name } }
}

/** Passes on what comes to a unix socket of this name, or to this port of 127.0.0.1. */
export async function startProxy(target: NetConnectOpts, place: string | number): Promise<ServerProxy> {
  const folder = typeof place === 'string' ? mkdtempSync(join(tmpdir(), 'proxy-')) : ''
  const sockets = new Set<Socket>()
  let mode: Mode = 'open'
  let milliseconds = 0
  const server = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect(target)
    const pipes = [createPipe(far), createPipe(near)] as const
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        near.destroy()
        far.destroy()
        for (const pipe of pipes) pipe.end()
      })
    }
    const pass = (to: Socket, pipe: Pipe, data: Buffer) => {
      if (mode === 'trickle') pipe.take(data)
      else if (mode === 'open') to.write(data)
      else if (mode === 'reset') near.resetAndDestroy()
    }
    // who closes hears nothing of a network that is silent
    near.on('end', () => mode !== 'silent' && near.end())
    near.on('data', (data: Buffer) => pass(far, pipes[0], data))
    far.on('data', (data: Buffer) => {
      if (milliseconds === 0) pass(near, pipes[1], data)
      else setTimeout(() => near.writable && pass(near, pipes[1], data), milliseconds)
    })
  })
  const listen = async () => {
    if (typeof place === 'string') server.listen(join(folder, place))
    else server.listen(place, '127.0.0.1')
    await once(server, 'listening')
  }
  const close = () => {
    for (const socket of sockets) socket.destroy()
  }
  await listen()
  const proxy: ServerProxy = {
    folder,
    async cut() {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      close()
      await closed
    },
    silence() {
      mode = 'silent'
    },
    reset() {
      mode = 'reset'
      for (const socket of sockets) socket.resetAndDestroy()
    },
    delay(given) {
      milliseconds = given
    },
    trickle() {
      mode = 'trickle'
    },
    async restore() {
      if (mode !== 'open') close()
      mode = 'open'
      milliseconds = 0
      if (!server.listening) await listen()
    },
    async remove() {
      await proxy.cut()
      if (folder !== '') rmSync(folder, { recursive: true, force: true })
    },
  }
  return proxy
}

function createPipe(to: Socket): Pipe {
  let waiting = Buffer.alloc(0)
  let timer: NodeJS.Timeout | undefined
  return {
    take(data) {
      waiting = Buffer.concat([waiting, data])
      timer ??= setInterval(() => {
        if (waiting.length > 0 && to.writable) to.write(waiting.subarray(0, 1))
        waiting = waiting.subarray(1)
      }, 1_000)
    },
    end: () => clearInterval(timer),
  }
}
