/** Gathers the figures of all runs, whatever process they ran in, and prints them as one table at the end. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export default function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'koa-viewsets-report-'))
  const file = join(folder, 'report.md')
  writeFileSync(file, '')
  // the processes of the tests inherit it
  process.env['TRUST_REPORT'] = file
  return () => {
    const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean)
    rmSync(folder, { recursive: true, force: true })
    if (lines.length > 0) process.stdout.write(`\n${toTable(lines)}\n`)
  }
}

/** The lines in the order of the runs' names: P2 before P10. */
function toTable(lines: readonly string[]): string {
  const { compare } = new Intl.Collator('en', { numeric: true })
  return ['| run | figures |', '|---|---|', ...lines.toSorted(compare)].join('\n')
}
