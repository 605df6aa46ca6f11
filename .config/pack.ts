/**
 * Puts into the root of the package what tools look for there: AGENTS.md and llms.txt, made of the book. `npm pack` runs it, and
 * with `--clean` behind; `--check` refuses to publish what would have dead links on the registry's page.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import process from 'node:process'

const ROOT = resolve(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

/** A page of the book with links that hold in the root. */
function fromRoot(page: string): string {
  return page.replace(/\]\((?![a-z]+:|#|\.\.\/)/g, '](docs/').replace(/\]\(\.\.\//g, '](')
}

const FILES: Readonly<Record<string, () => string>> = {
  'AGENTS.md': () => fromRoot(read('docs/AGENTS.md').replace(/^<!-- .* -->\n+/gm, '')),
  'llms.txt': () => {
    const { name, description } = JSON.parse(read('package.json')) as Record<string, string>
    const [, contents = ''] = read('docs/README.md').split(/^# .+$/m)
    return `# ${name}\n\n> ${description}\n${fromRoot(contents)}`
  },
}

if (process.argv.includes('--check') && !('repository' in JSON.parse(read('package.json')))) {
  console.error(
    'package.json names no repository: the links of README.md would lead nowhere on the page of the registry',
  )
  process.exit(1)
}
for (const [file, text] of Object.entries(FILES)) {
  if (process.argv.includes('--clean')) rmSync(join(ROOT, file), { force: true })
  else writeFileSync(join(ROOT, file), text())
}
