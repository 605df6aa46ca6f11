/** The suite of the Model Context Protocol, where there is a Node that it runs on. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Revision } from '../../support/agent.js'

/** What the suite needs. */
const NODE = 22
const require = createRequire(import.meta.url)
const SUITE = join(dirname(require.resolve('@modelcontextprotocol/conformance/package.json')), 'dist/index.js')

/**
 * A Node that the suite runs on: this one, that of NODE_22, or that which `.ci/run` has installed into the user's cache;
 * undefined where there is none.
 */
export function findNode(): string | undefined {
  const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache')
  const installed = join(cache, 'koa-viewsets/node-22/node_modules/.bin/node')
  return [process.execPath, process.env['NODE_22'], installed].find(
    (path): path is string => path !== undefined && existsSync(path) && versionOf(path) >= NODE,
  )
}

function versionOf(path: string): number {
  const { stdout } = spawnSync(path, ['--version'], { encoding: 'utf8' })
  return Number(/^v(\d+)\./.exec(stdout)?.[1] ?? 0)
}

/** What came of a scenario: its checks that passed, and of the others the status by the id. */
export interface Scenario {
  readonly passed: readonly string[]
  readonly others: Readonly<Record<string, string>>
}

interface Check {
  readonly id: string
  readonly status: string
}

/** Runs all scenarios of a revision against a server. @throws Error the suite did not run to its end */
export async function runSuite(node: string, url: string, revision: Revision): Promise<ReadonlyMap<string, Scenario>> {
  const folder = mkdtempSync(join(tmpdir(), 'koa-viewsets-conformance-'))
  try {
    const args = [SUITE, 'server', '--url', url, '--requirements', revision, '--output-dir', folder]
    const child = spawn(node, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += String(data)))
    const [code] = (await once(child, 'close')) as [number | null]
    // it ends by 1 where a scenario fails
    if (code === null || code > 1 || !/^Total: \d+ passed, \d+ failed$/m.test(output)) {
      throw new Error(`the suite ended with ${code}:\n${output.slice(-4_000)}`)
    }
    return new Map(readdirSync(folder).map((name) => [scenarioOf(name), readScenario(join(folder, name))]))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function scenarioOf(folder: string): string {
  const name = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(folder)?.[1]
  if (name === undefined) throw new Error(`the suite wrote ${folder}`)
  return name
}

function readScenario(folder: string): Scenario {
  const checks = JSON.parse(readFileSync(join(folder, 'checks.json'), 'utf8')) as readonly Check[]
  // what is told only, is neither
  const others = checks.filter(({ status }) => status !== 'SUCCESS' && status !== 'INFO')
  return {
    passed: checks.filter(({ status }) => status === 'SUCCESS').map(({ id }) => id),
    others: Object.fromEntries(others.map(({ id, status }) => [id, status])),
  }
}
