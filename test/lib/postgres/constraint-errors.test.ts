/** Which of the two things that a foreign key may be violated by, as PostgreSQL says it in its languages. */
import { describe, expect, it } from 'vitest'
import { toApiError } from '../../../lib/postgres/database-errors.js'
import type { ConstraintSubject } from '../../../lib/postgres/failed-statement.js'

const COLUMNS: Readonly<Record<string, string[]>> = { shelves_below_fkey: ['below_id'] }
const subject: ConstraintSubject = {
  operation: 'write',
  columnsOf: (table, constraint) => (table === 'shelves' ? COLUMNS[constraint] : undefined),
  fieldOf: (_table, column) => column,
  valueOf: () => 9,
}

function statusOf(detail: string, table: string): number | undefined {
  const fields = { code: '23503', table, constraint: `${table}_below_fkey`, detail, file: 'ri_triggers.c' }
  return toApiError(Object.assign(new Error('x'), { length: 1, severity: 'ERROR' }, fields), subject)?.status
}

// the key, and the table, in the words of each language that PostgreSQL has
const REFERENCED: readonly ((key: string, table: string) => string)[] = [
  (key, table) => `Key ${key} is still referenced from table "${table}".`,
  (key, table) => `Auf Schlüssel ${key} wird noch aus Tabelle »${table}« verwiesen.`,
  (key, table) => `La llave ${key} todavía es referida desde la tabla «${table}».`,
  (key, table) => `La clé ${key} est toujours référencée à partir de la table «\u00a0${table}\u00a0».`,
  (key, table) => `キー${key}はまだテーブル"${table}"から参照されています`,
  (key, table) => `${key} 키가 "${table}" 테이블에서 여전히 참조됩니다.`,
]
const MISSING: typeof REFERENCED = [
  (key, table) => `Key ${key} is not present in table "${table}".`,
  (key, table) => `Schlüssel ${key} ist nicht in Tabelle »${table}« vorhanden.`,
  (key, table) => `La llave ${key} no está presente en la tabla «${table}».`,
  (key, table) => `La clé ${key} n'est pas présente dans la table «\u00a0${table}\u00a0».`,
  (key, table) => `テーブル"${table}"にキー${key}がありません`,
  (key, table) => `${key} 키가 "${table}" 테이블에 없습니다.`,
]

describe('a foreign key', () => {
  it('is 409 where others refer to the key, in any language', () => {
    for (const say of REFERENCED) {
      expect([say('', ''), statusOf(say('(id)=(1)', 'books'), 'books')]).toEqual([say('', ''), 409])
      expect([say('', ''), statusOf(say('(id)=(1)', 'shelves'), 'shelves')]).toEqual([say('', ''), 409])
    }
    expect(statusOf('Key (id)=(1) is still referenced from table "odd (a)".', 'odd (a)')).toBe(409)
    expect(statusOf('Auf den Schlüssel wird noch aus Tabelle »books« verwiesen.', 'books')).toBe(409)
  })

  it('is 400 where it leads nowhere, in any language, whatever the key says', () => {
    for (const say of MISSING) {
      expect([say('', ''), statusOf(say('(author_id)=(9)', 'authors'), 'books')]).toEqual([say('', ''), 400])
      expect([say('', ''), statusOf(say('(below_id)=(9)', 'shelves'), 'shelves')]).toEqual([say('', ''), 400])
      const words = '(author)=(from table "books".)'
      expect([say('', ''), statusOf(say(words, 'authors'), 'books')]).toEqual([say('', ''), 400])
    }
    expect(statusOf('Key is not present in table "shelves".', 'shelves')).toBe(400)
  })

  it('is told soon, however often the key names the table', () => {
    const start = performance.now()
    expect(statusOf(`Key (author)=(${'.books '.repeat(400_000)}) is not present in table "authors".`, 'books')).toBe(
      400,
    )
    expect(performance.now() - start).toBeLessThan(3_000)
  })
})
