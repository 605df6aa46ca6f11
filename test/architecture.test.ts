/** Who may import whom (kernel, driver, policies, data, views, router, plugins), read from the import statements themselves. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

/** From the bottom up. A folder imports from those in lines above it and from itself; folders in one line do not import each other. */
const layers = [
  ['kernel'],
  ['postgres'],
  ['http'],
  [
    'versioning',
    'authentication',
    'permissions',
    'throttling',
    'parsers',
    'renderers',
    'caching',
    'metering',
    'assets',
    'models',
  ],
  ['ids', 'idempotency', 'patches', 'health', 'timing'],
  ['queryset'],
  ['api-keys', 'jwt', 'replicas'],
  ['fields'],
  ['serializers'],
  ['filters'],
  ['rules'],
  ['pagination'],
  ['rows'],
  ['aggregates'],
  ['metadata'],
  ['views'],
  ['factories', 'changes'],
  ['openapi'],
  ['explain'],
  ['router'],
  ['mcp'],
  ['storage', 'cli', 'testing', 'client', 'tracing', 'webhooks'],
  ['plugins'],
]

/** The one place of each third-party package: a file, a folder of lib, or plugins. */
const places: Record<string, string[]> = {
  '@koa/router': ['router'],
  ajv: ['testing'],
  'content-type': ['parsers'],
  'fastest-levenshtein': ['lib/kernel/near-miss.ts'],
  flydrive: ['storage'],
  inflation: ['parsers'],
  inflection: ['lib/kernel/naming.ts'],
  jose: ['jwt'],
  knex: ['lib/cli/schema/open-database.ts'],
  'koa-body': ['parsers'],
  'koa-static': ['plugins'],
  negotiator: ['lib/http/accept.ts'],
  objection: ['models', 'queryset', 'api-keys', 'webhooks'],
  papaparse: ['renderers'],
  pg: ['pagination'],
  'pg-types': ['lib/postgres/type-parsers.ts'],
  'rate-limiter-flexible': ['throttling'],
  'secure-json-parse': ['parsers'],
  'swagger-ui-dist': ['plugins'],
}

const MAIN = 'lib/index.ts'

/** Whose types may be named anywhere: they are what an application hands us. */
const sharedTypes = ['koa', 'knex', 'objection']

interface Import {
  readonly from: string
  /** A path such as `lib/kernel/errors.ts`, or the name of a package. */
  readonly to: string
  readonly typeOnly: boolean
}

const root = fileURLToPath(new URL('..', import.meta.url))
const files = ['lib', 'plugins'].flatMap(sourceFiles)
const imports = files.flatMap((file) => readImports(file, readFileSync(join(root, file), 'utf8')))
const internal = imports.filter(({ to }) => to.endsWith('.ts'))
const external = imports.filter(({ to }) => !to.endsWith('.ts') && !to.startsWith('node:'))

describe('the layers', () => {
  it('hold every file', () => {
    expect(files.filter((file) => !isIndex(file) && layerOf(file) === -1)).toEqual([])
  })

  it('import downwards only, and no folder beside them', () => {
    const wrong = internal.filter(
      ({ from, to }) => !isIndex(from) && folderOf(from) !== folderOf(to) && layerOf(to) >= layerOf(from),
    )
    expect(wrong.map(describeImport)).toEqual([])
  })

  it('never import an index.ts', () => {
    expect(internal.filter(({ to }) => isIndex(to))).toEqual([])
  })

  it('import files that exist, with the ending .js', () => {
    expect(internal.filter(({ to }) => !files.includes(to)).map(describeImport)).toEqual([])
  })

  it('import at once: a loader that makes CommonJS of ES modules, as tsx does, has another copy of what import() names', () => {
    const later = /\bimport\(\s*['"]\./
    const loading = files.filter((file) => later.test(stripComments(readFileSync(join(root, file), 'utf8'))))
    // the client's, for browsers, which shares no class with it
    expect(loading).toEqual(['lib/client/resource.ts'])
  })

  it('have no cycles, of types only within one folder', () => {
    expect(findCycle(new Map(files.map((file) => [file, importedBy(file)])))).toEqual([])
  })
})

/** How often a file makes a query on the table of a model, and why nobody is shown a row by it that is not theirs to see. */
const QUERIES: Readonly<Record<string, readonly [number, string]>> = {
  'lib/changes/read-images.ts': [1, 'rows that are written, before and after, by their keys'],
  'lib/changes/row-states.ts': [1, 'rows as they were before a change and after it'],
  'lib/changes/visible-changes.ts': [1, 'those rows in the place of their table, as the caller sees it'],
  'lib/fields/related-field.ts': [2, 'what may be chosen, and what its relation leads to: leaveOutUnseen()'],
  'lib/filters/field-path.ts': [1, 'what a path leads to, joined: joinOf()'],
  'lib/filters/lookups-of.ts': [1, 'takes parts of a time; it reads no table'],
  'lib/filters/step.ts': [1, 'rows on the way of a path: those that are seen'],
  'lib/queryset/one-row.ts': [6, 'one row by its key: with what narrows the table, or found before'],
  'lib/queryset/own-condition.ts': [1, 'the beginning of a query, to cut it off; it is not sent'],
  'lib/queryset/own-row.ts': [2, 'rows that were found before, by their keys'],
  'lib/queryset/reads-whole-rows.ts': [1, 'compares a query with one of the whole table; it is not sent'],
  'lib/queryset/related-lists.ts': [1, 'the columns of a join table'],
  'lib/queryset/related-rows.ts': [2, 'what a relation leads to: leaveOutUnrelated()'],
  'lib/queryset/visible-rows.ts': [1, 'says which rows are seen'],
  'lib/queryset/where-beyond.ts': [1, 'keys of the query that it is given'],
  'lib/rows/row-sql.ts': [8, 'the rows of a page that was found, by their keys'],
  'lib/rows/sql-parts.ts': [1, 'what is joined to rows: those that are seen'],
  'lib/rows/write-sql.ts': [
    14,
    'writes; what they join is shown where nobody sees less of it (RowAccess.obstacleTo())',
  ],
  'lib/rows/row-update.ts': [
    2,
    'rows that are shown with another, where nobody sees less of them (updateByStatement())',
  ],
  'lib/rows/list-sql.ts': [1, 'the keys of the page around it'],
  'lib/rules/compile-condition.ts': [1, 'a rule looks at all rows; `readable` asks the rule of the others'],
  'lib/rules/policies.ts': [3, 'prints SQL for PostgreSQL to ask'],
  'lib/serializers/references.ts': [2, 'the rows that a key leads to: ofTable(), leaveOutUnseen()'],
  'lib/serializers/limited-fields.ts': [1, 'rows that were found before, by their keys'],
  'lib/views/request/parents.ts': [1, 'the objects before the view on a path: their scope()'],
  'lib/serializers/check-written.ts': [3, 'asks rules about rows that were found, or written'],
  'lib/serializers/write-links.ts': [6, 'writes links of rows that were found before'],
  'lib/serializers/write-rows.ts': [1, 'writes rows that were found before'],
  'lib/views/generic-api-view.ts': [2, "the queryset of a view: narrowed by the view's scope()"],
  'lib/views/steps/concurrency.ts': [
    1,
    'the version of a row, locked or not, that was found before, that is found afterwards, or that the queryset is asked for',
  ],
  'lib/views/steps/hold-objects.ts': [1, 'the mark of a row that is found afterwards'],
  'lib/webhooks/claimed-deliveries.ts': [2, 'claims deliveries, a table of ours, and ends attempts'],
  'lib/webhooks/delivery-table.ts': [3, 'makes, hands over and sweeps deliveries, a table of ours'],
  'lib/webhooks/fan-out.ts': [1, 'notes how far it has read, in a table of ours'],
  'lib/webhooks/webhook-endpoint-view-set.ts': [3, 'endpoints of their owner, and their deliveries'],
}
/** Receivers whose `query()` sends a statement, or gives a query that was made in one of these places. */
const SENDING = 'connection|own|seen|source|lookup|this|options'
const ON_TABLE = new RegExp(
  String.raw`(?<!\b(?:${SENDING})\s*\??)\.(?:query|relatedQuery)\(|\$(?:query|relatedQuery)\(|` +
    String.raw`\b(?:knex|trx|from)\(\s*[\w.]*tableName|tableName as never|^\s*(?:bindings: |\.\.\.)?\[.*\btableName,|` +
    String.raw`bindings: \[[\w.]*tableName\]|\b(?:from|join|into) (?:\?\?|\$\{\w*\(?target)[ )$]|` +
    String.raw`from \$\{(?:source\.length|.*escaped\(target)`,
  'gm',
)
/** Messages that show how a query is written. */
const SHOWN = /\bModel\.query\(\)/g

describe('queries on the tables of models', () => {
  const countOf = (code: string) => [...code.replace(SHOWN, '').matchAll(ON_TABLE)].length

  it('are made where rows are narrowed to those that the caller sees, and nowhere else', () => {
    // metering has tables of its own
    const found = files
      .filter((file) => folderOf(file) !== 'metering')
      .map((file) => [file, countOf(stripComments(readFileSync(join(root, file), 'utf8')))] as const)
      .filter(([, count]) => count > 0)
    const known = Object.entries(QUERIES).map(([file, [count]]) => [file, count])
    expect(Object.fromEntries(found)).toEqual(Object.fromEntries(known))
  })

  it.each([
    'const rows = await Owner.query(knex)',
    'void relatedModelClass.query()',
    'one?.query(trx)',
    'Book.relatedQuery("author")',
    'object.$query(knex)',
    'knex.from(model.tableName)',
    'await trx(model.tableName).del()',
    'sql: "select 1 from ?? where"',
  ])('are seen in: %s', (code) => {
    expect(countOf(code)).toBe(1)
  })
})

describe('third-party packages', () => {
  it('sit behind one place each', () => {
    const wrong = external.filter(
      ({ from, to, typeOnly }) =>
        !(typeOnly && sharedTypes.includes(to)) &&
        !(places[to] ?? []).some((place) => place === from || place === folderOf(from)),
    )
    expect(wrong.map(describeImport)).toEqual([])
  })

  it('that are optional are loaded by doors of their own, never by lib or plugins', () => {
    const { peerDependenciesMeta } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    const loaded = new Set(['lib/index.ts', 'plugins/index.ts'])
    for (const file of loaded) {
      for (const { from, to, typeOnly } of imports) if (from === file && !typeOnly) loaded.add(to)
    }
    expect(loaded.size).toBeGreaterThan(200)
    expect(Object.keys(peerDependenciesMeta).filter((name) => loaded.has(name))).toEqual([])
  })

  it('are found at run time by what no bundler replaces: webpack leaves nothing of an imported createRequire()', () => {
    const using = imports.filter(({ to }) => to === 'node:module').map(({ from }) => from)
    expect(using.filter((from) => !from.startsWith('lib/cli/'))).toEqual([])
  })

  it('[F14] decode no image', () => {
    const decoders = /sharp|jimp|canvas|image|png|jpe?g|gif|webp|avif|exif/i
    expect(external.filter(({ to }) => decoders.test(to)).map(describeImport)).toEqual([])
  })
})

describe('[D11] signatures', () => {
  const sources = new Map(files.map((file) => [file, stripComments(readFileSync(join(root, file), 'utf8'))]))

  it('are compared by timingSafeEqual, in one function', () => {
    const named = [...sources].filter(([, source]) => source.includes('timingSafeEqual')).map(([file]) => file)
    expect(named).toEqual(['lib/kernel/signing.ts'])
    expect(bodyOf(sources.get('lib/kernel/signing.ts') as string, 'equalBytes')).toBe(
      'return left.length === right.length && timingSafeEqual(left, right)',
    )
  })

  it('are verified by it in these places, so often', () => {
    const counts = [...sources].map(([file, source]) => [
      file,
      [...source.matchAll(/\bequalBytes\((?!left: )/g)].length,
    ])
    expect(Object.fromEntries(counts.filter(([, count]) => count !== 0))).toEqual({
      'lib/assets/cache-bust.ts': 1,
      'lib/ids/codecs.ts': 1,
      'lib/pagination/cursor-token.ts': 1,
      'lib/pagination/server-cursor-pagination.ts': 2,
      'lib/replicas/token.ts': 1,
    })
  })

  it('are never compared otherwise, nor kept in a variable that could be', () => {
    const found = [...sources].flatMap(([file, source]) => looseSignatures(source).map((code) => `${file}: ${code}`))
    // what encrypts a position, and who opens a cursor: made by the same function, and never compared with what is sent
    expect(found).toEqual([
      "lib/pagination/cursor-token.ts: const nonce = mac(scope.secret, 'cursor/nonce/v1', [...context, filled], NONCE_BYTES)",
      "lib/pagination/server-cursor-pagination.ts: const owner = ownerTag(scope).toString('hex')",
      'lib/pagination/server-cursor-pagination.ts: const body = Buffer.concat([id, ownerTag(scope)])',
    ])
  })

  it.each([
    'if (this.#sign(payload) !== given) return null',
    'if (given === sign(scope, body)) return body',
    'const expected = signer.sign(signed, user)',
    'const same = mac(token, LABEL, [given]).equals(mac(token, LABEL, [token]))',
    'return Buffer.compare(given, ownerTag(scope)) === 0',
    'return given.startsWith(this.#hmac.hex(text))',
    'let wanted: string = hmac.hex(text).slice(0, 32)',
    `if (createHmac('sha256', key).update(text).digest('hex') == given) return`,
    'return this.#signers.some((signer) => signer.sign(signed, user) === given)',
  ])('are seen where they would be: %s', (code) => {
    expect(looseSignatures(code)).not.toEqual([])
  })

  it.each([
    'const isSigned = equalBytes(bytes.subarray(16), sign(scope, node, body))',
    'const token = encodeBase64Url(payload + this.#sign(payload))',
    'return this.#hmac.hex(parts).slice(0, this.#length)',
    'return Buffer.from(hmacOf(secret, label).hex(frame(...parts)), "hex").subarray(0, bytes)',
  ])('may be handed on: %s', (code) => {
    expect(looseSignatures(code)).toEqual([])
  })
})

describe('[I13] timers', () => {
  /** Each ends with the call that it is made for, which somebody waits for. */
  const waitedFor = [
    'lib/client/changes.ts',
    'lib/client/changes.ts',
    'lib/client/send.ts',
    'lib/metering/meter-request.ts',
    'lib/webhooks/post-webhook.ts',
  ]

  it('keep no process alive', () => {
    const held = files.flatMap((file) =>
      heldTimers(stripComments(readFileSync(join(root, file), 'utf8'))).map(() => file),
    )
    expect(held).toEqual(waitedFor)
  })

  it('end a turn by that of kernel/turns.ts, which no test of an application mocks', () => {
    const users = files.filter((file) => /\bsetImmediate\b/.test(stripComments(readFileSync(join(root, file), 'utf8'))))
    expect(users).toEqual(['lib/kernel/turns.ts'])
  })

  it.each<[string, number]>([
    ['this.#timer = setTimeout(() => void work(), milliseconds).unref()', 0],
    ['sweeper ??= setInterval(() => void clean(), 1000).unref()', 0],
    ['this.#timer = setTimeout(() => {\n  void this.#write(1)\n}, this.#interval).unref()', 0],
    ['await setTimeoutOf(trx, 1)', 0],
    ['setTimeout(look, INTERVAL)', 1],
    ['const a = setTimeout(b, 1).unref()\nconst c = setInterval(d, 1)', 1],
  ])('are counted in %j: %i', (source, expected) => {
    expect(heldTimers(source)).toHaveLength(expected)
  })
})

describe('functions that a request makes', () => {
  /** V8 allocates a function that is written right into a property among what stays until a full garbage collection. */
  const intoProperty = /\.[#\w]+ (?:\?\?)?= (?:async )?(?:function\b|\w+ =>|\([^()]*\)(?:: [\w<>[\]| ]+)? =>)/

  it('are named first where a property keeps them, so that a request goes with its garbage', () => {
    const ofRequests = files.filter((file) => !file.startsWith('lib/router/'))
    expect(ofRequests.filter((file) => intoProperty.test(readFileSync(join(root, file), 'utf8')))).toEqual([])
  })

  it.each(['res.writeHead = (...values: unknown[]) => x', 'a.b ??= async () => x', 'this.#c = function () {}'])(
    'are seen in: %s',
    (text) => expect(text).toMatch(intoProperty),
  )
})

/** The files of tests with a table of books of their own, and why; all others take the library's, and add to it what they need. */
const OWN_BOOKS: Record<string, string> = {
  'test/support/library.ts': 'the library',
  'test/support/typed-books.ts': 'compiled by itself: its models declare what is in its table',
  'test/lib/filters/books.ts': 'a column of each type',
  'test/api/drop-in.test.ts': "another program's",
  'test/api/external-ids-of-composite-keys.test.ts': 'its foreign key is of several columns',
  'test/api/row-level-security.test.ts': 'one in each of several schemas',
  'test/api/table.test.ts': 'keyed by a text; relations of all its foreign keys',
  'test/api/tenant-databases.test.ts': 'another one for each tenant',
  'test/bench/rules.ts': 'measured',
  'test/examples/existing-app.test.ts': "an example's",
  'test/examples/known-clients.test.ts': "an example's",
  'test/examples/quickstart.test.ts': "an example's",
  'test/golden/examples.test.ts': "an example's, as in golden files",
  'test/lib/cli/init-files.test.ts': 'read by init',
  'test/lib/cli/row-types.test.ts': 'read for its types',
  'test/lib/models/build-model.test.ts': 'read for its columns and constraints',
  'test/lib/models/describe-model.test.ts': 'read for its columns and constraints',
  'test/lib/postgres/database-errors.test.ts': 'its constraints refuse',
  'test/trust/costs.test.ts': 'measured',
  'test/trust/filter-groups.test.ts': 'drawn by chance',
  'test/trust/serial-orders.test.ts': 'which locks its foreign keys take',
  'test/trust/support/roads-api.ts': 'drawn by chance',
  'test/trust/support/schema.sql': 'drawn by chance',
}

describe('tables of books', () => {
  it('are those of the library, but where a test has a reason', () => {
    const names = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    const found = names
      .map((name) => `test/${name}`)
      .filter((file) => /\.(?:ts|sql)$/.test(file))
      .filter((file) => /create table (?:if not exists )?"?books\b/i.test(readFileSync(join(root, file), 'utf8')))
    expect(found.sort()).toEqual(Object.keys(OWN_BOOKS).sort())
  })
})

describe('what comments cite', () => {
  const cited = (pattern: RegExp) =>
    files.flatMap((file) =>
      [...readFileSync(join(root, file), 'utf8').matchAll(pattern)].flatMap(
        ([text]) => text.match(/[A-Z]\d+|\b\d+\b/g) ?? [],
      ),
    )
  const reference = (name: string) => readFileSync(join(root, 'docs/reference', name), 'utf8')

  it('are promises that the reference has', () => {
    const promised = new Set(reference('promises.md').match(/\b[A-IR]\d+\b/g))
    const ids = cited(/promises? [A-IR]\d+(?:(?:, | and |, and )[A-IR]\d+)*/g)
    expect(ids.length).toBeGreaterThan(50)
    expect(ids.filter((id) => !promised.has(id))).toEqual([])
  })

  it('are sections of the wire format that the reference has', () => {
    const sections = new Set([...reference('wire-format.md').matchAll(/^## (\d+)\./gm)].map(([, number]) => number))
    const numbers = cited(/wire format, sections? \d+(?:(?:, | and )\d+)*/g)
    expect(numbers.length).toBeGreaterThan(50)
    expect(numbers.filter((number) => !sections.has(number))).toEqual([])
  })

  it('is no specification that nobody has', () => {
    expect(files.filter((file) => /\bspec,? sections?\b/.test(readFileSync(join(root, file), 'utf8')))).toEqual([])
  })
})

describe('the public names', () => {
  const text = (file: string) => readFileSync(join(root, file), 'utf8')
  const doors = files.filter((file) => file.endsWith('/index.ts'))
  const isType = (name: string) => name.startsWith('type ')

  it('come by as many doors as package.json has', () => {
    const { exports } = JSON.parse(text('package.json')) as { exports: Record<string, { types?: string }> }
    const sources = Object.values(exports).flatMap(
      ({ types }) => types?.replace('./dist/', '').replace('.d.ts', '.ts') ?? [],
    )
    expect(sources.sort()).toEqual([...doors].sort())
    const { compilerOptions } = JSON.parse(text('tsconfig.json')) as {
      compilerOptions: { paths: Record<string, readonly string[]> }
    }
    expect(Object.keys(compilerOptions.paths).sort()).toEqual(
      Object.keys(exports)
        .filter((door) => door !== './package.json')
        .map((door) => door.replace('.', 'koa-viewsets'))
        .sort(),
    )
  })

  it.each(doors)('of %s are listed by hand', (file) => {
    expect(text(file)).not.toMatch(/^export \*/m)
  })

  it.each(doors)('of %s are those of the snapshot', async (file) => {
    const name = dirname(file).replace('/', '-')
    await expect(`${publicNames(text(file)).join('\n')}\n`).toMatchFileSnapshot(`__snapshots__/${name}-names.txt`)
  })

  it('of the main door are at most 130 at run time', () => {
    expect(publicNames(text(MAIN)).filter((name) => !isType(name)).length).toBeLessThanOrEqual(130)
  })
})

describe('the names between the files', () => {
  /** The client and the command line are programs of their own, and OpenAPI has its own words. */
  const APART = /^(?:plugins|lib\/(?:client|cli)|lib\/openapi\/types\.ts)/

  it('mean one thing each, so that a search for one finds its owner', () => {
    const owners = new Map<string, Set<string>>()
    for (const file of files.filter((each) => !APART.test(each))) {
      const declared = readFileSync(join(root, file), 'utf8').matchAll(
        /^export (?:abstract )?(?:async )?(?:function|const|class|interface|type) (\w+)/gm,
      )
      for (const [, name = ''] of declared) owners.set(name, (owners.get(name) ?? new Set()).add(file))
    }
    const shared = [...owners].filter(([, { size }]) => size > 1)
    expect(shared.map(([name, places]) => `${name}: ${[...places].join(', ')}`)).toEqual([])
  })
})

describe('the reading of import statements', () => {
  it('finds all kinds, and none in comments', () => {
    const source = `
/** import { a } from './comment.js' */
// import { b } from './line-comment.js'
import koa, { type Context } from 'koa'
import type { Knex } from 'knex'
import {
  one,
  two,
} from '../errors.js'
import './effects.js'
import '@koa/router/types'
export type { Three } from './three.js'
export { four } from './four.js'
const text = 'import { five } from "./five.js"'
export type Six = import('./six.js').Six
export const seven = async () => await import('node:fs')
`
    expect(
      readImports('lib/fields/field.ts', source).map(({ to, typeOnly }) => (typeOnly ? `type ${to}` : to)),
    ).toEqual([
      'koa',
      'type knex',
      'lib/errors.ts',
      'lib/fields/effects.ts',
      '@koa/router',
      'type lib/fields/three.ts',
      'lib/fields/four.ts',
      'lib/fields/six.ts',
      'node:fs',
    ])
  })

  it('finds the cycle in a graph', () => {
    const graph = new Map([
      ['a', ['b', 'c']],
      ['b', ['d']],
      ['c', ['d', 'e']],
      ['d', []],
      ['e', ['f']],
      ['f', ['c']],
    ])
    expect(findCycle(graph)).toEqual(['c', 'e', 'f', 'c'])
    expect(findCycle(new Map([...graph, ['f', []]]))).toEqual([])
  })

  it('finds public names', () => {
    const source = `export { a, type B } from './a.js'\nexport type { C } from './c.js'\nexport {\n  /** @deprecated x */\n  d as e,\n} from './d.js'\nexport interface F {}\nexport function g() {}`
    expect(publicNames(source)).toEqual(['a', 'e', 'g', 'type B', 'type C', 'type F'])
  })
})

function sourceFiles(folder: string): string[] {
  if (!existsSync(join(root, folder))) return []
  const names = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
  return names.filter((name) => name.endsWith('.ts')).map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
}

function stripComments(source: string): string {
  return source.replace(/\/\*.*?\*\//gs, '').replace(/^\s*\/\/.*$/gm, '')
}

/** What stands between the braces of a function at the top of a file. */
function bodyOf(source: string, name: string): string | undefined {
  return new RegExp(`^export function ${name}\\b[^{]*\\{\\n(?<body>.*?)\\n\\}`, 'ms')
    .exec(source)
    ?.groups?.['body']?.trim()
}

/** A call that makes a signature or a digest of a secret: by our functions, a `Signer`, an `Hmac` or Node. */
const SIGNS = /(?:\b(?:mac|sign|ownerTag|hashToken)|#sign|\.(?:hex|sign)|\bcreateHmac)\(/
const COMPARES = /[!=]==?|\.(?:equals|includes|startsWith|endsWith|indexOf|localeCompare)\(|\bcompare\(/

/** Statements that compare a signature in a time that tells of it, or keep one where another statement could. */
function looseSignatures(source: string): string[] {
  return source
    .split(/\n|;|(?<=\{)/)
    .map((statement) => statement.trim())
    .filter(
      (statement) => SIGNS.test(statement) && !/^(?:export )?(?:async )?(?:function\b|#?sign\(.*\{$)/.test(statement),
    )
    .filter((statement) => {
      // what stands among the arguments of equalBytes() is compared by it; what a template holds is written
      const rest = withoutCallsOf('equalBytes', statement).replace(/\$\{[^}]*\}/g, '')
      if (!SIGNS.test(rest)) return false
      return COMPARES.test(rest) || /^(?:const|let|var) (?:\w+)(?:: [^=]+)? = (?!encodeBase64Url\(|\[)/.test(rest)
    })
}

/** The timers that nobody has told to keep no process alive. */
function heldTimers(source: string): string[] {
  return [...source.matchAll(/\bset(?:Timeout|Interval)\(/g)]
    .map(({ index }) => source.slice(index))
    .map((text) => text.slice(endOfCall(text)))
    .filter((after) => !after.startsWith('.unref()'))
}

/** Where the arguments of the call that a text begins with are over. */
function endOfCall(text: string): number {
  let end = text.indexOf('(')
  let depth = 0
  do {
    if (text[end] === '(') depth++
    if (text[end] === ')') depth--
    end++
  } while (depth > 0 && end < text.length)
  return end
}

/** The text without the calls of a function and their arguments. */
function withoutCallsOf(name: string, text: string): string {
  const start = text.indexOf(`${name}(`)
  if (start === -1) return text
  const end = start + endOfCall(text.slice(start))
  return withoutCallsOf(name, text.slice(0, start) + text.slice(end))
}

function readImports(file: string, source: string): Import[] {
  const statements = stripComments(source).matchAll(
    /^(?:import|export)\s+(?<type>type\s)?[^'"=()]*?from\s*'(?<from>[^']+)'|^import\s+'(?<effect>[^']+)'|\bimport\(\s*'(?<dynamic>[^']+)'/gm,
  )
  return [...statements].map(({ groups = {} }) => {
    const specifier = groups['from'] ?? groups['effect'] ?? groups['dynamic'] ?? ''
    return { from: file, to: resolveImport(file, specifier), typeOnly: groups['type'] !== undefined }
  })
}

function resolveImport(file: string, specifier: string): string {
  if (specifier.startsWith('.')) return join(dirname(file), specifier).replace(/\.js$/, '.ts')
  if (specifier.startsWith('node:')) return specifier
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
}

/** The folder that a file's layer goes by. */
function folderOf(file: string): string {
  const [top = '', folder = ''] = file.split('/')
  return top === 'lib' ? folder : top
}

function layerOf(file: string): number {
  return layers.findIndex((layer) => layer.includes(folderOf(file)))
}

/** A door of the package. */
function isIndex(file: string): boolean {
  return file.endsWith('/index.ts')
}

function importedBy(file: string): string[] {
  const isOfOneRoom = ({ from, to, typeOnly }: Import) => typeOnly && folderOf(from) === folderOf(to)
  return internal.filter((one) => one.from === file && !isOfOneRoom(one)).map(({ to }) => to)
}

/** The first cycle found, its first node repeated at the end; empty when there is none. */
function findCycle(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>()
  const visit = (node: string, path: readonly string[]): string[] => {
    if (path.includes(node)) return [...path.slice(path.indexOf(node)), node]
    if (done.has(node)) return []
    for (const next of graph.get(node) ?? []) {
      const cycle = visit(next, [...path, node])
      if (cycle.length > 0) return cycle
    }
    done.add(node)
    return []
  }
  for (const node of graph.keys()) {
    const cycle = visit(node, [])
    if (cycle.length > 0) return cycle
  }
  return []
}

function publicNames(source: string): string[] {
  const lists = [...source.matchAll(/^export (type )?\{([^}]*)\}/gm)].flatMap(([, type = '', list = '']) =>
    list
      .replace(/\/\*.*?\*\//gs, '')
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '')
      .map((item) => type + item.replace(/\w+ as /, '')),
  )
  const declared = [
    ...source.matchAll(
      /^export (?:(?<type>interface|type)|abstract class|async function|class|function|const) (?<name>\w+)/gm,
    ),
  ].map(({ groups = {} }) => `${groups['type'] ? 'type ' : ''}${groups['name']}`)
  return [...lists, ...declared].sort()
}

function describeImport({ from, to }: Import): string {
  return `${from} imports ${to}`
}
