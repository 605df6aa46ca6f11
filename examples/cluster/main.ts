/**
 * Starts a whole cluster on this machine: `npm run example:cluster`. nginx, two processes of `server.ts`, PgBouncer, and a
 * PostgreSQL with a standby. nginx and PgBouncer must be installed. It runs on Linux and macOS.
 *
 * PORT says where nginx listens (8080), NODE_PORTS where the processes do (3001,3002), all on 127.0.0.1. DRAIN_SECONDS
 * is how long a process goes on that is told to stop (2). A process that ends is started again. Ctrl-C or SIGTERM stops everything, a second one at once. Nothing is kept.
 */
import { constants } from 'node:os'
import { type Cluster, startCluster } from './cluster.js'

/** npm passes on the Ctrl-C that the terminal has sent us already: what comes so soon is the same one. */
const SAME_SIGNAL_MILLISECONDS = 500
/** How often we look whether the npm that started us is still there. */
const PARENT_MILLISECONDS = 500

const port = Number(process.env['PORT'] || 8080)
const nodePorts = (process.env['NODE_PORTS'] || '3001,3002').split(',').map(Number)
const drainSeconds = Number(process.env['DRAIN_SECONDS'] || 2)

let cluster: Cluster | undefined
let stoppingSince: number | undefined
process.on('SIGINT', onSignal)
process.on('SIGTERM', onSignal)
if (process.env['npm_lifecycle_event']) stopWithParent()
try {
  cluster = await startCluster({ port, nodePorts, drainSeconds, log: (line) => console.log(line) })
  console.log(describe(cluster))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  // what has started sees our end, and ends too
  process.exit(1)
}

function onSignal(signal: 'SIGINT' | 'SIGTERM'): void {
  if (cluster && stoppingSince === undefined) {
    stoppingSince = Date.now()
    void cluster.stop()
  } else if (stoppingSince === undefined || Date.now() - stoppingSince > SAME_SIGNAL_MILLISECONDS) {
    process.exit(128 + constants.signals[signal])
  }
}

/** Where npm was killed, nobody is left to tell us to stop. */
function stopWithParent(): void {
  const parent = process.ppid
  setInterval(() => process.ppid !== parent && onSignal('SIGTERM'), PARENT_MILLISECONDS).unref()
}

function describe({ pids }: Cluster): string {
  const ports = [port, ...nodePorts]
  const parts = [...pids].map(([name, pid], index) => {
    const address = ports[index] === undefined ? '' : `127.0.0.1:${ports[index]}`
    return `  ${name.padEnd(10)} pid ${String(pid).padEnd(8)}${address}`.trimEnd()
  })
  return `
The cluster is at http://127.0.0.1:${port}/api/books:

${parts.join('\n')}

Try what examples/cluster/README.md says. Ctrl-C stops it.`
}
