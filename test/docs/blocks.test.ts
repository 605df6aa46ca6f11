/** The code of the book is code of this package: every block compiles. */
import { describe, expect, it } from 'vitest'
import { blocksOf, type Page, readBook } from '../support/book.js'
import { checkBlocks } from '../support/checked-blocks.js'
import { createFolder } from '../support/files.js'

const page = (text: string): Page => ({ path: 'docs/page.md', text })
const WRONG = page(`# A page

\`\`\`ts
class Books extends modelViewSet(Book, { serializerClas: BookSerializer }) {}
\`\`\`

<!-- setup: none -->
\`\`\`ts
export const same = Books
\`\`\`
`)

describe('the blocks of the book', () => {
  it('compile, but for a misspelt name and what another block has kept to itself', { timeout: 120_000 }, async () => {
    const found = await checkBlocks([...readBook(), WRONG], createFolder())
    const expected = [
      expect.stringMatching(/^docs\/page.md:4 .*serializerClas/),
      expect.stringMatching(/^docs\/page.md:9 .*'Books'/),
    ]
    expect(found.filter((line) => !line.startsWith('docs/page.md'))).toEqual([])
    expect(found).toEqual(expect.arrayContaining(expected))
  })
})

describe('a block', () => {
  it('is found with its line, its setup and the file that it is', () => {
    expect(blocksOf(WRONG)).toMatchObject([
      { line: 4, language: 'ts' },
      { line: 9, setup: 'none' },
    ])
    const [file] = blocksOf(page('```sql\n-- sql/1-books.sql\nselect 1;\n```\n'))
    expect(file).toMatchObject({ language: 'sql', file: 'sql/1-books.sql' })
  })
})
