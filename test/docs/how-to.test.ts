/** Pages that are programs tell the truth: each is loaded, started and asked, and answers as it is printed there. */
import { basename } from 'node:path'
import { describe, it } from 'vitest'
import { isProgram, readBook } from '../support/book.js'
import { printTable, startPage } from '../support/page-program.js'
import { askCurl, expectPrinted, stepsOf } from '../support/tutorial.js'

const pages = readBook()
  .filter(isProgram)
  .map((page) => ({ ...page, name: basename(page.path, '.md') }))
const printed = pages.filter((page) => stepsOf(page).some(({ answer }) => answer))

describe('a page that is a program', () => {
  it.each(printed)('answers as $name says', async (page) => {
    const { port, client, folder } = await startPage(page)
    for (const step of stepsOf(page)) {
      const isQuery = step.command.startsWith('psql')
      expectPrinted(
        page.path,
        step,
        isQuery ? await printTable(client, step.command) : await askCurl(step, port, folder),
      )
    }
  })
})
