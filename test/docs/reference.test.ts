/** The reference says what the code has: all of it, and nothing else. */
import { readdirSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ChangesMixin } from '../../lib/changes/index.js'
import { BulkModelViewSet, CacheableMixin, NestedViewSetMixin, StreamMixin } from '../../lib/index.js'
import { staticKinds } from '../../lib/kernel/declarations.js'
import { MeteringMixin } from '../../lib/metering/index.js'
import { createDatabase } from '../support/database.js'
import { readProjectFile } from '../support/program.js'
import { columnTypes, GROUPS } from './reference/column-types.js'
import { internalNames, type PublicName } from './reference/doors.js'
import type { Member } from './reference/entries.js'
import { allNames, membersOf, optionsOf, publicOf, shownMembers } from './reference/known.js'
import { FOLDER, referencePages } from './reference/pages.js'
import { PAGES_OF_STATICS } from './reference/rooms.js'

const page = (name: string) => readProjectFile(`docs/reference/${name}.md`)

describe('the pages of names', () => {
  const pages = referencePages()

  it('are those that `npm run docs:reference` makes of the source', () => {
    const stored = readdirSync(FOLDER).map((name) => `${FOLDER}/${name}`)
    expect(stored.sort()).toEqual([...pages.keys()].sort())
    expect(stored.filter((path) => readProjectFile(path) !== pages.get(path))).toEqual([])
  })

  it('have each name of each door once, and no other', () => {
    const listed = readdirSync('test/__snapshots__')
      .filter((name) => name.endsWith('-names.txt'))
      .flatMap((name) => readProjectFile(`test/__snapshots__/${name}`).trim().split('\n'))
      .map((name) => name.replace('type ', ''))
    const apart = new Set(['names', 'statics-of-views', 'methods-of-views'].map((name) => `${FOLDER}/${name}.md`))
    const headings = [...pages].flatMap(([path, text]) =>
      apart.has(path) ? [] : [...text.matchAll(/^## (\w+)(?: \(type\))?$/gm)].map(([, name = '']) => name),
    )
    expect(listed.length).toBeGreaterThan(400)
    expect([...headings, ...internalNames()].sort()).toEqual(listed.sort())
  })

  it('have a place of its own for each name of a page, whatever its case', () => {
    for (const [path, text] of pages) {
      const anchors = [...text.matchAll(/^##+ (.+)$/gm)].map(([, name]) => name?.toLowerCase())
      expect([path, anchors.filter((anchor, at) => anchors.indexOf(anchor) !== at)]).toEqual([path, []])
    }
  })

  it('say something of each name, option, static, property and method', () => {
    const silent = allNames().flatMap(({ name, entry }) => {
      const options = optionsOf(entry).filter((one) => !publicOf(one))
      const members = [entry, ...options].flatMap((one) => (one === entry ? shownMembers(one) : membersOf(one)))
      const without = members.filter(({ doc }) => !doc?.text).map((member) => `${name}: ${member.name}`)
      return entry.doc?.text ? without : [name, ...without]
    })
    expect(silent).toEqual([])
  })

  it('have every static that a view may declare, with a page that tells more', () => {
    const classes = [
      StreamMixin(CacheableMixin(NestedViewSetMixin(BulkModelViewSet))),
      MeteringMixin(BulkModelViewSet),
      ChangesMixin(BulkModelViewSet),
    ]
    const known = [...new Set(classes.flatMap((one) => Object.keys(staticKinds(one))))].sort()
    const rows = page('api/statics-of-views').matchAll(/^\| \[`(\w+)`\]\(#[\w-]+\) \|.* \| \[.*\]\(.*\) \|$/gm)
    const told = [...rows].map(([, name = '']) => name)
    expect(known.length).toBeGreaterThan(50)
    expect([...new Set(told)].sort()).toEqual(known)
    expect([...PAGES_OF_STATICS.keys()].sort()).toEqual(known)
  })
})

describe('the page of types of PostgreSQL', () => {
  const MADE = /(?<=<!-- column types -->\n).*(?=<!-- end -->)/s

  it('has the field, the JSON and the lookups that columns get', async () => {
    const database = await createDatabase()
    try {
      const made = `\n${await columnTypes(database)}\n\n`
      const text = page('column-types')
      if (process.env['WRITE_ANSWERS'] === 'true') {
        writeFileSync(
          'docs/reference/column-types.md',
          text.replace(MADE, () => made),
        )
      }
      expect(MADE.exec(page('column-types'))?.[0]).toBe(made)
    } finally {
      await database.drop()
    }
  })

  it('says which lookups stand behind a word', () => {
    const rows = [...page('column-types').matchAll(/^\| ([a-z ]+) \| (`[^;|\n]*)/gm)]
    const told = rows
      .filter(([, group = '']) => Object.hasOwn(GROUPS, group))
      .map(([, group, cell = '']) => [group, [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)])
    expect(Object.fromEntries(told)).toEqual(GROUPS)
  })
})

describe('the page of HTTP', () => {
  const code = ['lib', 'plugins']
    .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`))
    .filter((path) => path.endsWith('.ts') && !path.startsWith('lib/client/') && !path.startsWith('lib/cli/'))
    .map((path) =>
      readProjectFile(path)
        .replace(/\/\*.*?\*\//gs, '')
        .replace(/^\s*\/\/.*$/gm, ''),
    )
    .join('\n')
  const text = page('http')

  it('has every header that the code names, and no other', () => {
    const calls =
      /\b(?:ctx|req|res|request|response)\??\.(?:get|set|vary|append|[gs]etHeader|removeHeader|hasHeader)\(\s*'([\w-]+(?:, [\w-]+)*)'|\bheaderOf\(ctx, '([\w-]+)'/g
    const properties =
      /\bheaders\??(?:\.|\[')(authorization|accept|origin|[a-z]+(?:-[a-z]+)+)\b|\{ '?([a-z-]+)'?(?:: \w+)? \} = (?:ctx|req|ctx\.req)\.headers/g
    const literals = /'((?:[A-Z][A-Za-z]+)(?:-[A-Z][A-Za-z]+)+)'/g
    const named = [calls, properties, literals].flatMap((pattern) =>
      [...code.matchAll(pattern)].flatMap(([, one, other]) => (one ?? other ?? '').toLowerCase().split(', ')),
    )
    const told = new Set([...text.matchAll(/`([\w-]+)`/g)].map(([, name]) => name?.toLowerCase()))
    expect(new Set(named).size).toBeGreaterThan(45)
    // the format of a day is none
    expect([...new Set(named)].filter((name) => !told.has(name) && name !== 'yyyy-mm-dd')).toEqual([])
    const rows = [...text.matchAll(/^\| (`[^|]+) \|/gm)].flatMap(([, cell = '']) => [...cell.matchAll(/`([\w-]+)`/g)])
    const lower = code.toLowerCase()
    expect(rows.length).toBeGreaterThan(50)
    // by Koa's cookies, and as a field of a header's own name
    const unnamed = rows.map(([, name = '']) => name.toLowerCase()).filter((name) => !lower.includes(name))
    expect(unnamed).toEqual([])
  })

  it('has every status that the code answers with, and no other', () => {
    const answers = /\b(?:ApiError|KeyRefused|super)\((\d{3})\b|\bstatus(?:Code)?\s*[=:]\s*([1-5]\d\d)\b/g
    const found = [...code.matchAll(answers)].map(([, one, other]) => one ?? other ?? '')
    const told = [...text.matchAll(/^\| (\d{3}) \|/gm)].map(([, status = '']) => status)
    expect(told).toEqual([...new Set(found)].sort())
  })
})

describe('the page of settings', () => {
  it('says of each setting the variable that its comment says, and has all others that the package reads', () => {
    const { entry } = allNames().find(({ name }) => name === 'Settings') as PublicName
    const commented = entry.members.flatMap(({ name, doc }) => {
      const variable = /^the environment variable (\w+)/.exec(doc?.default ?? '')?.[1]
      return variable === undefined ? [] : [[variable, name]]
    })
    const text = page('settings')
    const rows = [...text.matchAll(/^\| `([A-Z_]+)` \| `(\w+)` \|/gm)].map(([, variable, setting]) => [
      variable,
      setting,
    ])
    expect(Object.fromEntries(rows)).toEqual(Object.fromEntries(commented))
    expect(rows).toHaveLength(commented.length)
    const files = ['lib', 'plugins'].flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
    )
    const read = files
      .filter((path) => path.endsWith('.ts'))
      .flatMap((path) =>
        [...readProjectFile(path).matchAll(/process\.env\['([A-Z_]+)'\]/g)].map(([, name = '']) => name),
      )
    expect(read.length).toBeGreaterThan(1)
    expect(read.filter((name) => !text.includes(`\`${name}\``))).toEqual([])
  })
})

describe('the page of limits', () => {
  const UNITS: Readonly<Record<string, number>> = { MB: 1_048_576, kB: 1_024, s: 1_000 }

  /** A number as it may be meant: of a unit, in bytes or milliseconds, too. */
  function numbersIn(text: string): readonly number[] {
    return [...text.matchAll(/(\d[\d,]*)(?: (MB|kB|s)\b)?/g)].flatMap(([, digits = '', unit = '']) => {
      const number = Number(digits.replaceAll(',', ''))
      return [number, number * (UNITS[unit] ?? 1)]
    })
  }

  it('says the defaults that the comments of options and statics say', () => {
    const rows = page('limits').matchAll(/^\| [^|]+ \| (?<where>[^|]+) \| (?<given>[^|]+) \|/gm)
    const checked = [...rows].flatMap(({ groups = {} }) => {
      const { where = '', given = '' } = groups
      const words = new Set(where.match(/\w+/g))
      const named = allNames().filter(({ name }) => words.has(name))
      const options = named.flatMap(({ entry }) => optionsOf(entry).flatMap(membersOf))
      const statics = where.includes('static ') ? allNames().flatMap(({ entry }) => membersOf(entry)) : []
      const isStatic = ({ kind }: Member) => kind === 'static'
      return [...options, ...statics.filter(isStatic)].flatMap(({ name, doc }) => {
        const said = /^[\d_]+/.exec(doc?.default ?? '')?.[0].replaceAll('_', '')
        if (said === undefined || !words.has(name)) return []
        return [{ name, said, holds: numbersIn(given).includes(Number(said)) }]
      })
    })
    expect(checked.length).toBeGreaterThan(40)
    expect(checked.filter(({ holds }) => !holds)).toEqual([])
  })
})

/** What small requests may cost: the row of the table, what the code has for its numbers, and a test that shows it. */
const COSTS: readonly [
  row: string,
  constants: readonly [file: string, name: string, shown: string][],
  test: string,
  title: string,
][] = [
  [
    '| names in a request that nothing reads',
    [
      ['kernel/unknown-names', 'MOST_NAMES', '20'],
      ['kernel/unknown-names', 'MOST_COMPARED', '5'],
    ],
    'api/request-costs',
    'are told twenty times, and what there is once',
  ],
  [
    '| messages of an answer',
    [
      ['kernel/errors', 'MOST_TOLD', '500'],
      ['kernel/errors', 'MOST_CHARACTERS', '65,536'],
    ],
    'api/request-costs',
    'are told up to five hundred',
  ],
  ['| characters of `Prefer`', [['http/prefer', 'LONGEST', '1,024']], 'api/prefer', 'more than 1,024 characters'],
  [
    '| relations that a request follows',
    [['filters/sub-queries', 'MOST_SUB_QUERIES', '32']],
    'api/request-costs',
    'are 32 at most, all together',
  ],
  [
    '| a number with an exponent counts',
    [['parsers/json-parser', 'limit', '1 MB']],
    'api/request-costs',
    'count in a body that other middleware has read',
  ],
  [
    '| operations of a JSON patch',
    [
      ['patches/patch-parsers', 'operations', '100'],
      ['patches/json-patch', 'DEFAULT_MAX_COPIED', '1,048,576'],
    ],
    'api/request-costs',
    'of patches add up to no document beyond the limit',
  ],
  [
    '| time of a statement of aggregates or facets',
    [['views/mixins/aggregate-mixin', 'aggregateTimeout', '5 s']],
    'lib/postgres/guarded',
    'for statements, beside one of 5 s here: %s counts',
  ],
  [
    '| bytes of all answers of more than 4,096 bytes',
    [
      ['idempotency/table', 'LARGE', '4,096'],
      ['idempotency/table', 'DEFAULT_MAX_CALLER', '33,554,432'],
    ],
    'api/idempotency',
    'are kept up to a bound, beyond which their keys alone are',
  ],
  [
    '| seconds that `api.close()` waits for bodies',
    [],
    'api/abandoned-requests',
    'refuses at once whose body has not come',
  ],
  [
    '| changes that the client of a change stream may have missed',
    [['changes/change-stream-mixin', 'MOST_MISSED', '5,000']],
    'api/change-streams',
    'begins anew behind more than 5,000 changes',
  ],
  [
    '| time that it may take to say who sees a change',
    [['kernel/questions', 'PATIENCE', '5 s']],
    'api/change-streams',
    'ends where nobody can say in time what it shows',
  ],
  ['| statements that go on for a client', [], 'api/abandoned-requests', 'takes the statement of %s with it'],
]

describe('the page of limits', () => {
  const rows = page('limits').split('\n')

  it.each(COSTS)('says of what a small request costs what the code has: %s', (start, constants, test, title) => {
    const row = rows.find((one) => one.startsWith(start))
    expect(row).toBeDefined()
    for (const [file, name, shown] of constants) {
      const [, written = ''] = new RegExp(`\\b${name} = ([\\d_* ]+)`).exec(readProjectFile(`lib/${file}.ts`)) ?? []
      const value = written
        .replaceAll('_', '')
        .split('*')
        .reduce((product, factor) => product * Number(factor), 1)
      expect(row).toMatch(new RegExp(`(?<![\\d,])${shown}(?![\\d,]*\\d)`))
      expect([name, value]).toEqual([name, numberOf(shown)])
    }
    expect(readProjectFile(`test/${test}.test.ts`)).toContain(title)
  })
})

/** `5 s` in milliseconds, `1 MB` in bytes. */
function numberOf(shown: string): number {
  const [digits = '', unit] = shown.split(' ')
  return Number(digits.replaceAll(',', '')) * (unit === 's' ? 1_000 : unit === 'MB' ? 1_048_576 : 1)
}
