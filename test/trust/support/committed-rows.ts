/** The rows that transactions have changed, as PostgreSQL's own log has them: what was committed, and nothing else. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** What a transaction has made of a row: null where it is not there. */
export interface CommittedRow {
  readonly transaction: string
  readonly table: string
  readonly before: Row | null
  readonly after: Row | null
}

/** Texts of its columns, by their names; of one that was there before, those that are null may be missing. */
export type Row = Readonly<Record<string, string | null>>

/** A plugin that reads the log, and the programs of the server that has it. */
export interface Decoder {
  readonly plugin: 'wal2json' | 'test_decoding'
  /** Undefined for the PostgreSQL of the tests. */
  readonly binaries: string | undefined
  /** What such a server is started with. */
  readonly settings: Readonly<Record<string, string>>
}

const DEBIAN = '/usr/lib/postgresql'
const TRUSTED = 'output_plugin_libraries'

/** wal2json where Debian has it, else what comes with every PostgreSQL. */
export function findDecoder(): Decoder {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN) : []
  const version = versions.find((one) => existsSync(join(DEBIAN, one, 'lib/wal2json.so')))
  if (version === undefined) return { plugin: 'test_decoding', binaries: undefined, settings: {} }
  const binaries = join(DEBIAN, version)
  // from 15.20 on a server names the plugins that it trusts
  const known = execFileSync(join(binaries, 'bin/postgres'), ['--describe-config'], { encoding: 'utf8' })
  const settings = known.includes(TRUSTED) ? { [TRUSTED]: 'wal2json' } : {}
  return { plugin: 'wal2json', binaries, settings }
}

/** Creates the slot, from which on the log is read. Tables have `replica identity full`. */
export const createSlot = ({ plugin }: Decoder): string =>
  `select pg_create_logical_replication_slot('committed', '${plugin}')`

/** Reads what has been committed since, one `data` a row. */
export const readSlot = ({ plugin }: Decoder): string =>
  `select data from pg_logical_slot_get_changes('committed', null, null, 'include-xids', '1', ${
    plugin === 'wal2json' ? `'format-version', '2'` : `'skip-empty-xacts', '1'`
  })`

type Event =
  | { readonly kind: 'begin'; readonly transaction: string }
  | { readonly kind: 'commit' }
  | { readonly kind: 'row'; readonly table: string; readonly was: Row | null; readonly is: Row | null }

/** Each row of each transaction, once, in the order of the commits. */
export function committedRows({ plugin }: Decoder, lines: readonly string[]): CommittedRow[] {
  const all: CommittedRow[] = []
  let transaction = ''
  let open = new Map<string, CommittedRow>()
  for (const line of lines) {
    const event = plugin === 'wal2json' ? ofWal2json(line) : ofTestDecoding(line)
    if (event?.kind === 'begin') {
      transaction = event.transaction
      open = new Map()
    } else if (event?.kind === 'commit') {
      all.push(...open.values())
    } else if (event) {
      const { table, was, is } = event
      const name = `${table} ${(is ?? was)?.['id']}`
      const known = open.get(name)
      open.set(name, { transaction, table, before: known ? known.before : was, after: is })
    }
  }
  return all
}

interface Cell {
  readonly name: string
  readonly value: string | number | boolean | null
}

interface Message {
  readonly action: string
  readonly xid?: number
  readonly table?: string
  readonly columns?: readonly Cell[]
  readonly identity?: readonly Cell[]
}

/** Numbers stand in it with all their digits, which JavaScript would not keep. */
function ofWal2json(line: string): Event | undefined {
  const {
    action,
    xid,
    table = '',
    columns,
    identity,
  } = JSON.parse(line.replaceAll(/"value":(-?[\d.]+)/g, '"value":"$1"')) as Message
  if (action === 'B') return { kind: 'begin', transaction: String(xid) }
  if (action === 'C') return { kind: 'commit' }
  if (!'IUD'.includes(action)) return undefined
  const rowOf = (cells: readonly Cell[] | undefined): Row | null =>
    cells ? Object.fromEntries(cells.map(({ name, value }) => [name, value === null ? null : String(value)])) : null
  return { kind: 'row', table, was: rowOf(identity), is: rowOf(columns) }
}

function ofTestDecoding(line: string): Event | undefined {
  const [, transaction] = /^BEGIN (\d+)$/.exec(line) ?? []
  if (transaction !== undefined) return { kind: 'begin', transaction }
  if (line.startsWith('COMMIT')) return { kind: 'commit' }
  const [, table = '', event = '', rest = ''] = /^table public\."?(\w+)"?: (\w+): (.*)$/.exec(line) ?? []
  if (table === '') return undefined
  const [old = '', fresh = old] = rest.split(' new-tuple: ')
  return {
    kind: 'row',
    table,
    was: event === 'INSERT' ? null : cellsOf(old),
    is: event === 'DELETE' ? null : cellsOf(fresh),
  }
}

/** Columns as `test_decoding` writes them: `id[integer]:1 title[text]:'Emma'`. */
function cellsOf(text: string): Row {
  const cells = text.matchAll(/(\w+)\[[^\]]*\]:('(?:[^']|'')*'|\S+)/g)
  return Object.fromEntries(
    [...cells].map(([, name = '', value = '']) => [
      name,
      value === 'null' ? null : value.startsWith("'") ? value.slice(1, -1).replaceAll("''", "'") : value,
    ]),
  )
}
