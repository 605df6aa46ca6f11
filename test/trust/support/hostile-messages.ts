/** Messages that no well-meaning agent sends, and messages that are nearly right. */
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { REVISIONS } from '../../support/agent.js'
import { anyCharacter } from '../../support/any-character.js'
import { agentMessage, headerText, META } from './agent-messages.js'
import type { Shot } from './client.js'
import { book, NASTY, name, text, toHeader, value } from './hostile.js'

/** A tool as `tools/list` shows it. */
export interface ShownTool {
  readonly name: string
  readonly inputSchema: {
    readonly properties: Readonly<Record<string, { readonly enum?: readonly string[] }>>
    readonly required?: readonly string[]
  }
}

/** The endpoints of the trial server. */
export const ENDPOINTS = ['/mcp', '/mcp/resources'] as const

const METHODS = ['tools/list', 'server/discover', 'initialize', 'ping', 'notifications/initialized', 'tools/call']
const UNKNOWN = [
  'resources/list',
  'prompts/get',
  'logging/setLevel',
  'tasks/get',
  'rpc.discover',
  '',
  '__proto__',
  ' tools/list',
  'TOOLS/LIST',
  'tools/call\0',
]

/** What JSON has none of, what cannot be written as a value, and keys that mean something. */
const RAW_VALUES = [
  ...[
    'NaN',
    'Infinity',
    '-Infinity',
    '1e999',
    '-0',
    '1e-400',
    '9'.repeat(400),
    '9007199254740993',
    '1.0',
    '0x10',
    '01',
  ],
  ...[
    'undefined',
    "'x'",
    '"\\ud800"',
    '"\\udfff\\ud800"',
    '"\\u0000"',
    '"\u2028"',
    '""',
    'null',
    'true',
    '[]',
    '{}',
    '[[]]',
  ],
  ...[
    '{"__proto__":{"x":1}}',
    '{"constructor":{"prototype":{"x":1}}}',
    '{"toJSON":1}',
    '{"then":1}',
    '{"\\u005f_proto__":1}',
  ],
  ...[
    '{"id":2,"id":3}',
    `"${'x'.repeat(5_000)}"`,
    '['.repeat(70) + ']'.repeat(70),
    `${'{"a":'.repeat(70)}1${'}'.repeat(70)}`,
  ],
]

/** Bodies that are no message at all. */
const RAW_BODIES = [
  ...[
    '',
    ' ',
    '\0',
    '[]',
    '{}',
    '[[]]',
    'null',
    'true',
    '1',
    '"x"',
    '{',
    '}',
    '{"jsonrpc"',
    '\ufeff{}',
    '{}{}',
    '// x\n{}',
  ],
  ...[
    '['.repeat(50_000),
    '{"a":'.repeat(20_000),
    `[${'0,'.repeat(60_000)}0]`,
    `{"jsonrpc":"2.0","id":1,"method":"${'m'.repeat(60_000)}"}`,
  ],
  ...[
    '{"jsonrpc":"2.0","id":1,"result":{}}',
    '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}',
    '{"jsonrpc":"2.0","result":1,"error":1}',
  ],
  ...[
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
    '{"jsonrpc":"2.0","method":"tools/call"}',
  ],
  ...[
    '{"jsonrpc":"2.0","id":null,"method":"ping"}',
    '{"jsonrpc":"1.0","id":1,"method":"ping"}',
    '{"jsonrpc":2.0,"id":1,"method":"ping"}',
  ],
  ...[
    '[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]',
    '{"id":1,"method":"ping"}',
  ],
  ...[
    '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}',
    '{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}',
  ],
  '{"__proto__":{"jsonrpc":"2.0","id":1,"method":"ping"}}',
]

/** An argument as its tool takes it, mostly. */
function argument(property: string, known: { readonly enum?: readonly string[] }, canary: string) {
  const nasty = fc.oneof(
    value,
    text.map((one) => one + canary),
  )
  if (known.enum)
    return fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...known.enum) }, { weight: 1, arbitrary: nasty })
  const right: fc.Arbitrary<unknown> =
    property === 'body'
      ? fc.oneof(
          book,
          fc.array(book, { maxLength: 3 }),
          fc.dictionary(name, value, { maxKeys: 3, noNullPrototype: true }),
        )
      : property.endsWith('id')
        ? fc.oneof(
            fc.integer({ min: 1, max: 220 }),
            fc.constantFrom('1', 'a/b', '..', '.', '1.json', '%2e', 'bulk', 'a\0b', '?', '#', '1?x=1'),
          )
        : fc.constantFrom<unknown>('1', 1, 'title', '-n', true, ['1', '2'], '2026-01-01')
  return fc.oneof({ weight: 5, arbitrary: right }, { weight: 1, arbitrary: nasty })
}

/** Names of arguments, few of which there are. */
const argumentName = fc.oneof(name, text)

/** A call of a tool: some of its arguments, and now and then one that is none. */
function callOf(tool: ShownTool, canary: string): fc.Arbitrary<Record<string, unknown>> {
  const { properties, required = [] } = tool.inputSchema
  const own = fc.record(
    Object.fromEntries(Object.entries(properties).map(([key, known]) => [key, argument(key, known, canary)])),
    { requiredKeys: [], noNullPrototype: true },
  )
  const needed = fc.record(
    Object.fromEntries(required.map((key) => [key, argument(key, properties[key] ?? {}, canary)])),
    { noNullPrototype: true },
  )
  const few = fc
    .tuple(own, fc.nat({ max: 7 }))
    .map(([all, at]) => Object.fromEntries(Object.entries(all).slice(at, at + 3)))
  const odd = fc.oneof(
    { weight: 6, arbitrary: fc.constant({}) },
    { weight: 1, arbitrary: fc.dictionary(argumentName, value, { maxKeys: 2, noNullPrototype: true }) },
  )
  return fc.tuple(few, needed, odd).map(([some, all, more]) => ({ ...some, ...all, ...more }))
}

/** Headers that contradict the body, are doubled, or are no such headers. */
const header = fc.oneof(
  fc.tuple(
    fc.constantFrom(
      'MCP-Protocol-Version',
      'Mcp-Method',
      'Mcp-Name',
      'Mcp-Session-Id',
      'Last-Event-ID',
      'Accept',
      'Idempotency-Key',
      'Content-Type',
    ),
    fc.oneof(
      text.map(toHeader),
      fc.constantFrom<string | string[]>('', ['a', 'b'], ['2026-07-28', '2026-07-28'], ['ping', 'ping']),
    ),
  ),
  text.map((one): [string, string] => ['Mcp-Name', headerText(one)]),
  fc.constantFrom<[string, string | string[]]>(
    ...(['alice', 'bob', 'staff', 'nobody'] as const).map((user): [string, string] => [
      'Authorization',
      `Token ${user}`,
    ]),
    ['Authorization', ['Token alice', 'Token bob']],
    ['MCP-Protocol-Version', '2024-11-05'],
    ['MCP-Protocol-Version', '2025-03-26'],
    ['MCP-Protocol-Version', '9999-99-99'],
    ['MCP-Protocol-Version', 'x'.repeat(8_000)],
    ['Mcp-Name', '=?base64?!!!?='],
    ['Mcp-Name', '=?base64??='],
    ['Mcp-Name', `=?base64?${'QUJD'.repeat(2_000)}?=`],
    ['Mcp-Name', '=?base64?/w==?='],
    ['Origin', 'null'],
    ['Origin', 'https://evil.example'],
    ['Origin', 'http://localhost.evil.example'],
    ['Origin', 'http://127.0.0.1:1'],
    ['Content-Type', 'text/plain'],
    ['Content-Type', 'application/json; charset=utf-16le'],
    ['Content-Type', 'application/json; charset="'],
    ['Content-Type', 'application/json;;'],
    ['Content-Type', 'multipart/form-data; boundary=x'],
    ['Content-Type', 'application/x-www-form-urlencoded'],
    ['Content-Type', ''],
    ['Accept', 'text/event-stream'],
    ['Accept', 'image/png'],
    ['Accept', '*/*;q=0'],
    ['Content-Encoding', 'gzip'],
    ['Content-Encoding', 'x'],
    ['Content-Encoding', 'gzip, gzip'],
    ['Content-Encoding', ''],
    ['If-Match', '"x"'],
    ['If-None-Match', '*'],
    ['Range', 'bytes=0-1'],
    ['X-HTTP-Method-Override', 'DELETE'],
    ['Idempotency-Key', '"k1", "k2"'],
    ['Cookie', 'session=alice'],
  ),
)

const headers = fc
  .tuple(
    fc.constantFrom<Record<string, string>>({}, { Authorization: 'Token alice' }, { Authorization: 'Token alice' }),
    fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: fc.array(header, { maxLength: 2 }) }),
  )
  .map(([known, pairs]) => ({ ...known, ...Object.fromEntries(pairs) }))

/** The text of a message with something done to it. */
const damage = fc.oneof(
  { weight: 20, arbitrary: fc.constant((body: string) => body) },
  { weight: 1, arbitrary: fc.nat().map((at) => (body: string) => body.slice(0, at % (body.length + 1))) },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.nat(), fc.constantFrom('{', '}', '[', ']', '"', ',', ':', '\\', '\0', '\ud800', 'x')).map(
      ([at, sign]) =>
        (body: string) =>
          body.slice(0, at % (body.length + 1)) + sign + body.slice(at % (body.length + 1)),
    ),
  },
  // one value for another, wherever it stands
  {
    weight: 4,
    arbitrary: fc.tuple(fc.nat(), fc.constantFrom(...RAW_VALUES)).map(([at, raw]) => (body: string) => {
      const places = [...body.matchAll(/(?<=":)(?:"[^"\\]*"|-?\d+|true|false|null|\{\}|\[\])/g)]
      const place = places[at % Math.max(1, places.length)]
      return place ? body.slice(0, place.index) + raw + body.slice(place.index + place[0].length) : body
    }),
  },
  // one name for another, or twice
  {
    weight: 1,
    arbitrary: fc
      .tuple(
        fc.constantFrom('jsonrpc', 'id', 'method', 'params', 'name', 'arguments', '_meta', 'body'),
        fc.constantFrom('__proto__', 'constructor', 'x', 'id', 'method'),
      )
      .map(
        ([one, other]) =>
          (body: string) =>
            body.replace(`"${one}":`, `"${other}":`),
      ),
  },
)

/** The bytes of a body as they are sent. */
const encoding = fc.oneof(
  { weight: 20, arbitrary: fc.constant((body: string): Pick<Shot, 'body' | 'headers'> => ({ body })) },
  fc.constantFrom<(body: string) => Pick<Shot, 'body' | 'headers'>>(
    (body) => ({ body: gzipSync(body), headers: { 'Content-Encoding': 'gzip' } }),
    (body) => ({ body: deflateSync(body), headers: { 'Content-Encoding': 'deflate' } }),
    (body) => ({ body: brotliCompressSync(body), headers: { 'Content-Encoding': 'br' } }),
    (body) => ({ body: gzipSync(body).subarray(0, -4), headers: { 'Content-Encoding': 'gzip' } }),
    (body) => ({ body: gzipSync(`${' '.repeat(20 * 2 ** 20)}${body}`), headers: { 'Content-Encoding': 'gzip' } }),
    (body) => ({ body: `${body}${' '.repeat(2 * 2 ** 20)}` }),
    (body) => ({ body: Buffer.from(body, 'utf16le') }),
    (body) => ({ body: Buffer.from(body.replace(/"(?=[,}])/, 'é"'), 'latin1') }),
  ),
)

/** Any message to the trial server: most are calls of its tools. */
export function anyMessage(tools: Readonly<Record<string, readonly ShownTool[]>>, canary: string): fc.Arbitrary<Shot> {
  const asked = fc.constantFrom(...ENDPOINTS).chain((path) => {
    const call = fc
      .constantFrom(...(tools[path] ?? []))
      .chain((tool) =>
        fc.tuple(fc.oneof({ weight: 9, arbitrary: fc.constant<unknown>(tool.name) }, value), callOf(tool, canary)),
      )
      .map(([called, given]) => ({ method: 'tools/call', params: { name: called, arguments: given } }))
    const other = fc
      .tuple(
        fc.oneof(fc.constantFrom(...METHODS), fc.constantFrom(...UNKNOWN, ...NASTY)),
        fc.oneof(fc.constant({}), fc.dictionary(name, value, { maxKeys: 2, noNullPrototype: true })),
      )
      .map(([method, params]) => ({ method, params }))
    return fc.record({
      path: fc.constant(path),
      said: fc.oneof({ weight: 4, arbitrary: call }, { weight: 1, arbitrary: other }),
    })
  })
  const id = fc.oneof(
    fc.integer(),
    fc.string({ unit: anyCharacter, maxLength: 20 }),
    fc.constantFrom(0, -1, 2 ** 53 - 1, '', 'x'.repeat(2_000)),
  )
  const message = fc
    .tuple(asked, fc.constantFrom(...REVISIONS), id, headers, damage, encoding)
    .map(([{ path, said }, revision, own, more, damaged, encoded]): Shot => {
      const { headers: right, body } = agentMessage(revision, said.method, { params: said.params, id: own })
      const sent = encoded(damaged(body))
      return { method: 'POST', path, headers: visible({ ...right, ...sent.headers, ...more }), body: sent.body }
    })
  const raw = fc.tuple(fc.constantFrom(...ENDPOINTS), fc.constantFrom(...RAW_BODIES), headers).map(
    ([path, body, more]): Shot => ({
      method: 'POST',
      path,
      headers: visible({ 'Content-Type': 'application/json', ...more }),
      body,
    }),
  )
  const byOther = fc
    .tuple(
      fc.constantFrom(...ENDPOINTS),
      fc.constantFrom('GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY'),
      headers,
    )
    .map(
      ([path, method, more]): Shot => ({
        method,
        path,
        headers: visible(more),
        body: method === 'PUT' ? JSON.stringify(META) : undefined,
      }),
    )
  return fc.oneof({ weight: 20, arbitrary: message }, { weight: 2, arbitrary: raw }, { weight: 1, arbitrary: byOther })
}

/** What an argument is not. */
const KINDS: readonly unknown[] = [
  ...[
    '',
    ' ',
    '..',
    'a/b',
    '/',
    'a.b',
    '1.json',
    '%2e%2e',
    'a\0b',
    '\ud800',
    '\r\nX-Y: z',
    '💥',
    '?x=1#y',
    'x'.repeat(20_000),
  ],
  ...["' OR '1'='1", "1'; DROP TABLE canary; --", '1) UNION SELECT 1 --', '$1', '{"a":1}', '__proto__', 'constructor'],
  ...[
    -1,
    0,
    1.5,
    1e308,
    2 ** 31,
    2 ** 53,
    true,
    [],
    [[1]],
    ['a', 1, null],
    {},
    { a: { b: [1] } },
    { id: 1 },
    { '#ref': 'x' },
  ],
]

/** Calls in which one argument is of each of these kinds, and the others are right. */
export function eachArgument(tools: readonly ShownTool[]): readonly Shot[] {
  return tools.flatMap(({ name: tool, inputSchema: { properties, required = [] } }) => {
    const right = Object.fromEntries(required.map((key) => [key, key === 'body' ? { title: 'x' } : 1]))
    return Object.keys(properties).flatMap((key) =>
      KINDS.map((kind, index): Shot => {
        const params = { name: tool, arguments: { ...right, [key]: kind } }
        const headers = { Authorization: 'Token alice' }
        const message = agentMessage(REVISIONS[index % 2] ?? '2026-07-28', 'tools/call', { params, headers })
        return { method: 'POST', path: '/mcp', ...message }
      }),
    )
  })
}

/** Headers that Node's client sends: others are refused before anything is sent. */
function visible(given: NonNullable<Shot['headers']>): NonNullable<Shot['headers']> {
  const pairs = Object.entries(given).map(([key, one]) => [key, Array.isArray(one) ? one : toHeader(String(one))])
  return Object.fromEntries(pairs) as NonNullable<Shot['headers']>
}
