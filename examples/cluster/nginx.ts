/** nginx before the processes: `nginx.conf` with the ports and folders of one start, and without the processes that are not ready. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Where one start of nginx is. */
export interface NginxPlace {
  /** Of its own, for what it writes. */
  readonly folder: string
  readonly port: number
  /** Those of the two processes, in the order of `nginx.conf`. */
  readonly nodePorts: readonly number[]
}

const EXAMPLE = new URL('nginx.conf', import.meta.url)
const EXAMPLE_PORTS = [3001, 3002]
const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']

/** Writes the configuration; nginx reads it when it starts, and again on SIGHUP. Returns the arguments of its command. */
export function configureNginx({ folder, port, nodePorts }: NginxPlace, isReady: (port: number) => boolean): string[] {
  mkdirSync(folder, { recursive: true })
  const paths = TEMPORARY.map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')
  const servers = readFileSync(EXAMPLE, 'utf8').replaceAll(/server 127\.0\.0\.1:(\d+)/g, (_, given) => {
    const nodePort = nodePorts[EXAMPLE_PORTS.indexOf(Number(given))] as number
    return `server 127.0.0.1:${nodePort}${isReady(nodePort) ? '' : ' down'}`
  })
  const configuration = servers
    .replace('listen 8080', `listen 127.0.0.1:${port}`)
    .replace('http {', `http { access_log off; ${paths}`)
  const file = join(folder, 'nginx.conf')
  writeFileSync(file, `pid ${folder}/nginx.pid;\n${configuration}`)
  return ['-p', folder, '-c', file, '-e', 'stderr', '-g', 'daemon off;']
}
