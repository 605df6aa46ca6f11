/** What statements cost PostgreSQL, in pages: the same on any machine. */
import type { Knex } from 'knex'

interface Sent {
  readonly sql: string
  readonly bindings: readonly unknown[]
}

/** Pages that the last statement of some work reads, asked once more. */
export async function pagesReadBy(knex: Knex, work: () => Promise<unknown>): Promise<number> {
  const sent: Sent[] = []
  const listen = (query: Sent) => void sent.push(query)
  knex.on('query', listen)
  await work()
  knex.off('query', listen)
  const { sql, bindings } = sent.at(-1) as Sent
  const explain = `explain (analyze, buffers, format json) ${sql.replaceAll(/\$\d+/g, '?')}`
  const { rows } = await knex.raw(explain, bindings as never)
  const { Plan: plan } = rows[0]['QUERY PLAN'][0]
  return plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
}
