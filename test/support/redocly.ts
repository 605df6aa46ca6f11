/** Runs `redocly lint` with its recommended rules, offline. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const require = createRequire(import.meta.url)

/** What the linter has to say of a document, one problem a line; empty when there is none. */
export async function lint(document: object): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'kv-redocly-'))
  const file = join(folder, 'openapi.json')
  try {
    await writeFile(file, JSON.stringify(document))
    const cli = join(dirname(require.resolve('@redocly/cli/package.json')), 'bin', 'cli.js')
    const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
    const options = ['lint', file, '--extends=recommended', '--format=json', '--max-problems=1000']
    const { stdout } = await run(process.execPath, [cli, ...options], { env, cwd: folder }).catch(
      (error: { stdout?: string }) => {
        // it ends with 1 when it has found errors
        if (!error.stdout) throw error
        return { stdout: error.stdout }
      },
    )
    const { problems } = JSON.parse(stdout) as { problems: readonly Problem[] }
    return problems.map(({ severity, ruleId, message, location }) => {
      return `${severity} ${ruleId}: ${message} at ${location.map(({ pointer }) => pointer).join(', ')}`
    })
  } finally {
    await rm(folder, { recursive: true })
  }
}

interface Problem {
  readonly severity: string
  readonly ruleId: string
  readonly message: string
  readonly location: readonly { readonly pointer?: string }[]
}
