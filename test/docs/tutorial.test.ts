/** The tutorial tells the truth: each page is built, started and asked, and answers as it is printed there. */
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { blocksOf, type Page, readBook, tutorialFiles } from '../support/book.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { createFolder, writeFiles } from '../support/files.js'
import { findFreePort, type Program, readProjectFile, startProgram, toUrl, untilAnswer } from '../support/program.js'
import { askCurl, expectPrinted, type Step, stepsOf } from '../support/tutorial.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const book = readBook()
const states = tutorialFiles(book)
const pageAt = (path: string) => book.find((page) => page.path === path) as Page

describe('the tutorial', () => {
  let database: TestDatabase
  let folder: string

  beforeAll(async () => {
    database = await createDatabase()
    const { paths } = JSON.parse(readProjectFile('tsconfig.json')).compilerOptions
    const fromRoot = Object.entries(paths as Record<string, string[]>).map(([name, [file = '']]) => [
      name,
      [join(ROOT, file)],
    ])
    folder = createFolder({
      'package.json': '{ "type": "module" }',
      'tsconfig.json': JSON.stringify({ compilerOptions: { paths: Object.fromEntries(fromRoot) } }),
      'cover.png': Buffer.from(PNG, 'base64'),
    })
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  })
  afterAll(() => database?.drop())

  it('has six pages', () => {
    expect(states.map(({ page }) => page)).toMatchObject(
      Array.from({ length: 6 }, (_, at) => expect.stringContaining(`/${at + 1}-`)),
    )
  })

  it.each(states)('answers as $page says', { timeout: 60_000 }, async ({ page, files }) => {
    writeFiles(folder, files)
    await runSql(pageAt(page))
    const port = await findFreePort()
    const program = start('src/main.ts', port)
    try {
      await untilAnswer(program, port, '/api/books')
      for (const step of stepsOf(pageAt(page))) await check(page, step, port)
    } finally {
      await program.stop()
    }
  })

  /** The statements that a page adds. */
  async function runSql(page: Page): Promise<void> {
    const client = new pg.Client(database.direct)
    await client.connect()
    for (const { language, file, text } of blocksOf(page)) {
      if (language === 'sql' && file?.startsWith('sql/')) await client.query(text)
    }
    await client.end()
  }

  function start(file: string, port: number): Program {
    const env = {
      DATABASE_URL: toUrl(database.direct),
      PORT: String(port),
      LIBRARY_URL: `http://localhost:${port}/api`,
    }
    return startProgram({
      command: process.execPath,
      args: ['--import', 'tsx', join(folder, file)],
      env: { ...env, TSX_TSCONFIG_PATH: join(folder, 'tsconfig.json') },
    })
  }

  async function check(page: string, step: Step, port: number): Promise<void> {
    const [, file] = /^npx tsx (\S+)/.exec(step.command) ?? []
    const given = file === undefined ? await askCurl(step, port, folder) : await output(start(file, port))
    expectPrinted(page, step, given)
  }

  async function output(program: Program): Promise<string> {
    const [code] = await new Promise<[number | null]>((resolve) =>
      program.child.once('close', (code) => resolve([code])),
    )
    const printed = program.output()
    expect({ code, printed }).toEqual({ code: 0, printed })
    return printed
  }
})
