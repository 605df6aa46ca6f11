/**
 * P17: what the conformance suite of the Model Context Protocol says of the server, of an application of its own and of the
 * atlas. Each check that does not pass stands here, with why: what is not served, and what the suite asks of tools that
 * applications of ours have not.
 */
import { rm } from 'node:fs/promises'
import Koa from 'koa'
import { APIRouter, action, BadRequest, ViewSet } from 'koa-viewsets'
import { mcp } from 'koa-viewsets/mcp'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { createAtlas } from '../../examples/atlas/atlas.js'
import { REVISIONS, type Revision } from '../support/agent.js'
import { createDatabase } from '../support/database.js'
import { readProjectFile } from '../support/program.js'
import { serve, type TestServer } from '../support/server.js'
import { findNode, runSuite, type Scenario } from './support/conformance.js'
import { report } from './support/size.js'

/** Photos are kept below it; the cache in which Node may be is looked for before. */
const node = findNode()
const cache = vi.hoisted(() => {
  const { mkdtempSync } = process.getBuiltinModule('node:fs')
  return mkdtempSync('/tmp/kv-conformance-')
})

if (node === undefined) console.warn('no Node 22: the conformance suite of the Model Context Protocol is skipped')

/** Why a scenario does not pass. */
type Reason =
  | 'serves no prompts'
  | 'serves no resources'
  | 'completes nothing'
  | 'logs nothing to clients'
  | 'answers in one message, without progress'
  | 'asks clients for nothing: no sampling, no elicitation, no roots'
  | 'has no tasks'
  | 'answers texts and JSON only'
  | 'takes arguments by headers of no client'
  | 'has not this tool of the suite'

interface Expected {
  readonly why: Reason
  /** The checks that do not pass, and how. */
  readonly checks: Readonly<Record<string, 'FAILURE' | 'WARNING' | 'SKIPPED'>>
}

const failing = (why: Reason, ...ids: readonly string[]): Expected => ({
  why,
  checks: Object.fromEntries(ids.map((id) => [id, 'FAILURE'])),
})
/** Of scenarios that are one check, which is called as they are. */
const named = (why: Reason, ...names: readonly string[]): readonly (readonly [string, Expected])[] =>
  names.map((name) => [name, failing(why, name)])

/** What fails under both revisions. */
const LACKS: readonly (readonly [string, Expected])[] = [
  ...named('serves no prompts', 'prompts-list', 'prompts-get-simple', 'prompts-get-with-args'),
  ...named('serves no prompts', 'prompts-get-embedded-resource', 'prompts-get-with-image'),
  ...named('serves no resources', 'resources-list', 'resources-read-text', 'resources-read-binary'),
  ...named('serves no resources', 'resources-templates-read'),
  ...named('completes nothing', 'completion-complete'),
  ...named('answers texts and JSON only', 'tools-call-image', 'tools-call-audio', 'tools-call-embedded-resource'),
  ...named('answers texts and JSON only', 'tools-call-mixed-content'),
  ...named('answers in one message, without progress', 'tools-call-with-progress'),
  ['json-schema-2020-12', failing('has not this tool of the suite', 'json-schema-2020-12-tool-found')],
]

const LACKING: Record<Revision, Readonly<Record<string, Expected>>> = {
  '2026-07-28': Object.fromEntries([
    ...LACKS,
    [
      'server-stateless',
      {
        why: 'has not this tool of the suite',
        checks: {
          // they need the suite's tools `test_missing_capability`, `test_streaming_elicitation` and `test_logging_tool`
          'sep-2575-server-rejects-undeclared-capability': 'FAILURE',
          'sep-2575-missing-capability-http-400': 'FAILURE',
          'sep-2575-http-server-no-independent-requests-on-stream': 'FAILURE',
          'sep-2575-server-no-log-without-loglevel': 'FAILURE',
          // of subscriptions, which there are not
          'sep-2575-server-sends-subscription-ack': 'SKIPPED',
          'sep-2575-server-tags-subscription-id': 'SKIPPED',
          'sep-2575-server-honors-notification-filter': 'SKIPPED',
          'sep-2575-server-sends-prompts-list-changed-on-subscription': 'SKIPPED',
          'sep-2575-server-sends-tools-list-changed-on-subscription': 'SKIPPED',
        },
      },
    ],
    [
      'caching',
      {
        // those of tools and of discovery pass
        why: 'serves no resources',
        checks: {
          'sep-2549-prompts-list-caching-hints': 'FAILURE',
          'sep-2549-resources-list-caching-hints': 'FAILURE',
          'sep-2549-resources-templates-list-caching-hints': 'FAILURE',
          'sep-2549-resources-read-caching-hints': 'SKIPPED',
        },
      },
    ],
    [
      'sep-2164-resource-not-found',
      // what must not be does not happen: there is no such method, which is another code than that of a missing resource
      { why: 'serves no resources', checks: { 'sep-2164-error-code': 'WARNING', 'sep-2164-data-uri': 'WARNING' } },
    ],
    ...(
      [
        ['basic-elicitation', 'sep-2322-elicitation-incomplete', 'FAILURE'],
        ['basic-sampling', 'sep-2322-sampling-incomplete', 'FAILURE'],
        ['basic-list-roots', 'sep-2322-list-roots-incomplete', 'FAILURE'],
        ['request-state', 'sep-2322-request-state-incomplete', 'FAILURE'],
        ['multiple-input-requests', 'sep-2322-multiple-inputs-incomplete', 'FAILURE'],
        ['multi-round', 'sep-2322-multi-round-r1', 'FAILURE'],
        ['missing-input-response', 'sep-2322-missing-response-rerequests', 'WARNING'],
        ['non-tool-request', 'sep-2322-non-tool-incomplete', 'FAILURE'],
        ['result-type', 'sep-2322-result-type-included', 'FAILURE'],
        ['tampered-state', 'sep-2322-reject-tampered-state', 'FAILURE'],
        ['capability-check', 'sep-2322-respect-client-capabilities', 'FAILURE'],
        ['ignore-extra-params', 'sep-2322-ignore-unexpected-params', 'WARNING'],
      ] as const
    ).map(([name, id, status]): [string, Expected] => [
      `input-required-result-${name}`,
      { why: 'asks clients for nothing: no sampling, no elicitation, no roots', checks: { [id]: status } },
    ]),
    [
      'http-custom-header-server-validation',
      failing(
        'takes arguments by headers of no client',
        ...[
          'no-xmcp-tool',
          'decode-base64',
          'validate-param-match',
          'reject-invalid-param-chars',
          'reject-param-mismatch',
        ].map((id) => `sep-2243-server-${id}`),
      ),
    ],
    ...Object.entries(tasks()).map(([name, ids]): [string, Expected] => [
      `tasks-${name}`,
      failing('has no tasks', ...ids),
    ]),
    ['tasks-status-notifications', { why: 'has no tasks', checks: { 'tasks-status-notifications': 'SKIPPED' } }],
  ]),
  '2025-11-25': Object.fromEntries([
    ...LACKS,
    ...named('serves no resources', 'resources-subscribe', 'resources-unsubscribe'),
    ...named('logs nothing to clients', 'logging-set-level', 'tools-call-with-logging'),
    ...named(
      'asks clients for nothing: no sampling, no elicitation, no roots',
      'tools-call-sampling',
      'tools-call-elicitation',
    ),
    ...(['sep1034-defaults', 'sep1330-enums'] as const).map((name): [string, Expected] => [
      `elicitation-${name}`,
      failing(
        'asks clients for nothing: no sampling, no elicitation, no roots',
        `elicitation-${name.split('-')[0]}-general`,
      ),
    ]),
    // without sessions and streams there is nothing to try: told, and no failure
    [
      'server-sse-multiple-streams',
      { why: 'answers in one message, without progress', checks: { 'server-sse-multiple-streams-session': 'WARNING' } },
    ],
    [
      'server-sse-polling',
      { why: 'answers in one message, without progress', checks: { 'server-sse-polling-session': 'WARNING' } },
    ],
  ]),
}

/** Of the extension for tasks, which is not required. */
function tasks(): Readonly<Record<string, readonly string[]>> {
  return {
    lifecycle: [
      ...['tasks-sync-tool-call', 'sep-2663-result-type-task-on-create', 'sep-2663-tasks-get-status-working'],
      ...['sep-2663-tasks-get-status-completed', 'sep-2663-tool-error-uses-completed-status'],
      ...[
        'sep-2663-tasks-get-status-failed',
        'sep-2663-cancel-ack-empty-result',
        'tasks-cancel-terminal-idempotent-ack',
      ],
    ],
    'capability-negotiation': [
      ...['tasks-extension-advertised', 'sep-2663-tasks-methods-non-declaring'],
      ...['sep-2663-server-rejects-undeclared-client', 'tasks-per-request-meta-opt-in'],
    ],
    'wire-fields': [
      'tasks-wire-field-renames',
      'tasks-no-early-ttl-expiry',
      'tasks-no-related-task-meta-on-inlined-result',
    ],
    'request-state-removal': ['tasks-request-state-removal-setup'],
    'mrtr-input': [
      'sep-2663-tasks-get-status-input-required',
      'tasks-mrtr-tasks-update-resumes',
      'tasks-mrtr-partial-fulfillment',
    ],
    'request-headers': [
      ...['tasks-headers-tolerate-mcp-method-on-tools-call', 'sep-2663-routing-headers-accepted-on-tasks-get'],
      'sep-2663-server-rejects-mismatched-mcp-name-on-tasks-get',
    ],
    'dispatch-and-envelope': [
      ...[
        'tasks-server-directed-creation-no-hint',
        'sep-2663-legacy-task-param-ignored',
        'tasks-immediate-result-shortcut',
      ],
      ...['tasks-result-type-complete-on-non-task-responses', 'sep-2663-durable-create-strong-consistency'],
      'sep-2663-tasks-get-invalid-task-id-32602',
    ],
    'required-task-error': ['sep-2663-server-returns-missing-capability-when-required'],
    'mrtr-composition': ['sep-2663-mrtr-synchronous-before-task-creation'],
  }
}

/** What passes wholly, with how many checks; of `input-required-result` that nothing is asked of clients, and nothing comes of it. */
const PASSING: Record<Revision, Readonly<Record<string, number>>> = {
  '2026-07-28': {
    'tools-list': 4,
    'tools-call-simple-text': 2,
    'tools-call-error': 2,
    'server-sse-multiple-streams': 1,
    'dns-rebinding-protection': 2,
    'http-header-validation': 14,
    'input-required-result-unsupported-methods': 2,
    'input-required-result-validate-input': 3,
  },
  '2025-11-25': {
    'server-initialize': 2,
    ping: 2,
    'tools-list': 3,
    'tools-call-simple-text': 2,
    'tools-call-error': 2,
    'dns-rebinding-protection': 2,
    'server-session-lifecycle': 0,
  },
}

/** The tools by which the suite looks at results and errors. */
class Diagnostics extends ViewSet {
  @action({ methods: ['GET'] })
  async simpleText() {
    return { text: 'This is a simple text response for testing.' }
  }

  @action({ methods: ['GET'] })
  async errorHandling() {
    throw new BadRequest('This tool intentionally returns an error for testing')
  }
}

const open: (() => unknown)[] = []
afterAll(async () => {
  for (const close of open.splice(0).reverse()) await close()
  await rm(cache, { recursive: true })
})

async function serveDiagnostics(): Promise<TestServer> {
  const api = new APIRouter().register('test', Diagnostics, 'test')
  const app = new Koa().use(mcp(api, { tools: ['test:*'] })).use(api.routes())
  await api.prepare()
  const server = await serve(app)
  open.push(() => server.close())
  return server
}

async function serveAtlas(): Promise<TestServer> {
  vi.stubEnv('XDG_CACHE_HOME', cache)
  const database = await createDatabase({ schema: readProjectFile('examples/atlas/schema.sql') })
  const atlas = await createAtlas(database.knex)
  const server = await serve(atlas.app)
  open.push(
    () => database.drop(),
    () => atlas.api.close(),
    () => server.close(),
  )
  return server
}

/** As they are told, for a comparison. */
function tell(scenarios: ReadonlyMap<string, Scenario>) {
  const passing: Record<string, number> = {}
  const lacking: Record<string, Scenario['others']> = {}
  for (const [name, { passed, others }] of scenarios) {
    if (Object.keys(others).length === 0) passing[name] = passed.length
    else lacking[name] = others
  }
  return { passing, lacking }
}

const checksOf = (expected: Readonly<Record<string, Expected>>) =>
  Object.fromEntries(Object.entries(expected).map(([name, { checks }]) => [name, checks]))

describe.skipIf(node === undefined)('[P17 J6] The conformance suite, of the revision', () => {
  it.each(REVISIONS)('%s: all that applies passes', { timeout: 300_000 }, async (revision) => {
    const server = await serveDiagnostics()
    const scenarios = await runSuite(node ?? '', `http://127.0.0.1:${server.port}/mcp`, revision)
    const { passing, lacking } = tell(scenarios)
    expect(passing).toEqual(PASSING[revision])
    expect(lacking).toEqual(checksOf(LACKING[revision]))
    const checks = [...scenarios.values()].reduce((sum, { passed }) => sum + passed.length, 0)
    report(`P17 conformance ${revision}`, {
      scenarios: scenarios.size,
      checks,
      'passing wholly': Object.keys(passing).length,
    })
  })

  it.each(REVISIONS)(
    '%s: so does the atlas, but for tools of the suite that it has not',
    { timeout: 300_000 },
    async (revision) => {
      const server = await serveAtlas()
      const { passing, lacking } = tell(await runSuite(node ?? '', `http://127.0.0.1:${server.port}/mcp`, revision))
      const { 'tools-call-simple-text': _, 'tools-call-error': __, ...rest } = PASSING[revision]
      expect(passing).toEqual(rest)
      const without = named('has not this tool of the suite', 'tools-call-simple-text', 'tools-call-error')
      expect(lacking).toEqual(checksOf({ ...LACKING[revision], ...Object.fromEntries(without) }))
    },
  )

  it('does not pass where it did not run', async () => {
    await expect(runSuite('/bin/false', 'http://127.0.0.1:1/mcp', '2025-11-25')).rejects.toThrow(
      'the suite ended with 1',
    )
    // nobody answers
    const { passing } = tell(await runSuite(node ?? '', 'http://127.0.0.1:1/mcp', '2025-11-25'))
    expect(passing).not.toMatchObject({ ping: 2 })
  })
})
