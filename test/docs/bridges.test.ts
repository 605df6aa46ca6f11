/** Pages about libraries that the project does not install are programs, too; and the others hold for the newest of theirs. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { blocksOf, type Page, readBook } from '../support/book.js'
import { expectAnswers, startPage } from '../support/page-program.js'
import { expectRollbacks } from '../support/rollbacks.js'

const run = promisify(execFile)
const modules = fileURLToPath(new URL('../../.config/bridges/node_modules', import.meta.url))
const pages = readBook().filter(({ path }) => /how-to\/(?:prisma|sequelize|drizzle|kysely)\.md$/.test(path))

it.each(pages)('$path answers as it says, and undoes both sides, 100 times of 100', async (page) => {
  const asProgram = {
    ...page,
    text: page.text.replaceAll('```typescript', '```ts').replace('program: bridges', 'program'),
  }
  const program = await startPage(asProgram, { modules, before: (folder) => generate(page, folder) })
  await expectAnswers(asProgram, program)
  expect(program.reported).toEqual([])
  await expectRollbacks(asProgram, program)
})

/** Has Prisma write its client, where the page has a schema. */
async function generate(page: Page, folder: string): Promise<void> {
  const schema = blocksOf(page).find(({ language }) => language === 'prisma')
  if (!schema) return
  writeFileSync(join(folder, 'schema.prisma'), schema.text.replace('../generated', './generated'))
  writeFileSync(join(folder, 'prisma.config.mjs'), "export default { schema: 'schema.prisma' }")
  // the client needs no engine, but the command loads that of migrations from the network, unless it is told where one is
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' }
  await run(process.execPath, [join(modules, 'prisma/build/index.js'), 'generate'], { cwd: folder, env })
}
