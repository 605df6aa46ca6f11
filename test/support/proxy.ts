/** A server's socket that can be cut, or fall silent. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type NetConnectOpts, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface ServerProxy {
  /** The folder that its socket is in. */
  readonly folder: string
  /** Closes all connections, and refuses new ones. */
  cut(): Promise<void>
  /** Takes connections and bytes, and passes none on. */
  silence(): void
  /** Passes everything on again; what was silent is closed. */
  restore(): Promise<void>
  remove(): Promise<void>
}

/** Passes on what comes to a unix socket of this name. */
export async function startProxy(target: NetConnectOpts, name: string): Promise<ServerProxy> {
  const folder = mkdtempSync(join(tmpdir(), 'proxy-'))
  const path = join(folder, name)
  const sockets = new Set<Socket>()
  let isSilent = false
  const server = createServer((near) => {
    const far = connect(target)
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        near.destroy()
        far.destroy()
      })
    }
    near.on('data', (data) => isSilent || far.write(data))
    far.on('data', (data) => isSilent || near.write(data))
  })
  const listen = async () => {
    server.listen(path)
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
      isSilent = true
    },
    async restore() {
      if (isSilent) close()
      isSilent = false
      if (!server.listening) await listen()
    },
    async remove() {
      await proxy.cut()
      rmSync(folder, { recursive: true, force: true })
    },
  }
  return proxy
}
