/** Pages about other libraries keep what they say of one transaction: what cannot be committed leaves nothing behind. */
import { expect } from 'vitest'
import { blocksOf, type Page } from './book.js'
import type { PageProgram } from './page-program.js'
import { connectTo } from './server.js'

const TIMES = 100

/** Whatever has a sale is refused at COMMIT, after all was written; how often that was, no rollback takes back. */
const REFUSING = `
  create sequence refused;
  create function refuse() returns trigger language plpgsql as $$ begin
    perform nextval('refused');
    raise exception 'sold out';
  end $$;
  create constraint trigger refuse after insert on sales deferrable initially deferred for each row execute function refuse()`

/** Requests whose transaction is ours, and others whose transaction is theirs: of none is anything left, on either side. */
export async function expectRollbacks(page: Page, { port, client }: PageProgram): Promise<void> {
  await client.query(REFUSING)
  const count = async () => {
    const { rows } = await client.query(
      'select (select count(*) from books) as books, (select count(*) from sales) as sales',
    )
    return rows
  }
  const before = await count()
  const server = connectTo(port)
  const text = blocksOf(page)
    .map((block) => block.text)
    .join('\n')
  const body = JSON.parse(/--json '(.*)'/.exec(text)?.[1] ?? '{}') as object
  const headers = { 'Content-Type': 'application/json' }
  const statuses = new Set<number>()
  for (let index = 0; index < TIMES; index++) {
    const title = `refused ${index}`
    const sent = { method: 'POST', path: '/api/books', headers, body: JSON.stringify({ ...body, title }) }
    const answers = await Promise.all([
      server.send(sent),
      server.send({ path: `/order?title=${encodeURIComponent(`ordered ${title}`)}` }),
    ])
    for (const { status } of answers) statuses.add(status)
  }
  expect([...statuses]).toEqual([500])
  expect(await count()).toEqual(before)
  const { rows } = await client.query("select nextval('refused') - 1 as refused")
  expect(Number(rows[0].refused)).toBe(2 * TIMES)
}
