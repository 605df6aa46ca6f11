/** The programs of the book: each page of the tutorial, and each page that is a program, asked as it is asked there. */
import { symlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { beforeAll, describe, expect, it } from 'vitest'
import { blocksOf, isProgram, type Page, readBook, tutorialFiles } from '../support/book.js'
import { createDatabase } from '../support/database.js'
import { createFolder } from '../support/files.js'
import { COVER, startPage } from '../support/page-program.js'
import { toUrl } from '../support/program.js'
import { requestOf, stepsOf } from '../support/tutorial.js'
import { expectRecorded, othersIn, Recording } from './support/recording.js'
import { startInside } from './support/started.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const book = readBook()

/** Sends the commands of a page, in their order. */
async function askSteps(recording: Recording, page: Page, folder: string): Promise<void> {
  for (const { command } of stepsOf(page)) {
    if (!command.startsWith('curl ')) continue
    await recording.ask({ title: command, ...(await requestOf(command, folder)) })
  }
}

describe('the tutorial', () => {
  const states = tutorialFiles(book).map((state) => ({ ...state, name: basename(state.page, '.md') }))
  const texts = new Map<string, string>()

  beforeAll(async () => {
    const database = await createDatabase()
    const client = new pg.Client(database.direct)
    await client.connect()
    for (const { page: path, name, files } of states) {
      const page = book.find((one) => one.path === path) as Page
      for (const { language, file: sql, text } of blocksOf(page)) {
        if (language === 'sql' && sql?.startsWith('sql/')) await client.query(text)
      }
      const folder = createFolder({ 'package.json': '{ "type": "module" }', 'cover.png': COVER, ...files })
      symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
      const env = { DATABASE_URL: toUrl(database.direct) }
      const { api, port, close } = await startInside(() => import(join(folder, 'src/main.ts')), env)
      const recording = await Recording.of({ api, port })
      await askSteps(recording, page, folder)
      await close()
      texts.set(name, recording.text())
    }
    await client.end()
    await database.drop()
  })

  it.each(states)('does in $name as recorded', async ({ name }) => {
    await expectRecorded('tutorial', name, texts.get(name))
  })

  it('has no other file', () =>
    expect(
      othersIn(
        'tutorial',
        states.map(({ name }) => name),
      ),
    ).toEqual([]))
})

describe('a page that is a program', () => {
  const pages = book
    .filter((page) => isProgram(page) && stepsOf(page).some(({ command }) => command.startsWith('curl ')))
    .map((page) => ({ ...page, name: basename(page.path, '.md') }))
    // it would start another server
    .filter(({ name }) => name !== 'uploads-to-s3')

  it.each(pages)('does in $name as recorded', async (page) => {
    const { api, port, folder } = await startPage(page)
    const recording = await Recording.of({ api, port })
    await askSteps(recording, page, folder)
    await expectRecorded('pages', page.name, recording.text())
  })

  it('has no other file', () =>
    expect(
      othersIn(
        'pages',
        pages.map(({ name }) => name),
      ),
    ).toEqual([]))
})
