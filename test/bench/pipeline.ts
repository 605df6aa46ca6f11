/** Which step of the pipeline a function belongs to, told by the folder that its file is in. */
import type { Runtime } from 'node:inspector'

const APPLICATION = 'the application'
const PG = 'pg client'
const HTTP = 'Node: HTTP, sockets, timers'

interface StepPlaces {
  readonly step: string
  /** Those of `lib`, or of the project. */
  readonly folders?: string
  /** Those of `node_modules`. */
  readonly packages?: string
  /** The step that Node's own functions belong to when this one calls them. @default this one */
  readonly node?: string
}

/** In the order of a request. */
const STEPS: readonly StepPlaces[] = [
  {
    step: 'Koa',
    packages:
      'koa koa-compose @koa/router statuses vary accepts negotiator type-is mime-types content-disposition cookies on-finished destroy ee-first delegates',
    node: HTTP,
  },
  { step: 'route', folders: 'router' },
  {
    step: 'policies',
    folders: 'versioning authentication permissions throttling metering api-keys jwt idempotency replicas rules',
  },
  {
    step: 'view: dispatch, action',
    folders: 'views factories client plugins metadata openapi explain tools health mcp tracing timing webhooks',
  },
  { step: 'parse the body', folders: 'parsers patches', packages: 'raw-body secure-json-parse content-type koa-body' },
  {
    step: 'build the query',
    folders: 'queryset filters pagination models ids aggregates',
    packages: 'objection',
    node: PG,
  },
  { step: 'pool', packages: 'knex tarn', node: PG },
  { step: PG, folders: 'postgres', packages: 'pg pg-protocol pg-types pg-pool' },
  { step: 'validate, write JSON', folders: 'serializers fields rows changes' },
  { step: 'respond, ETag', folders: 'renderers caching assets' },
  { step: 'kernel: errors, signing, context', folders: 'lib kernel http' },
  { step: APPLICATION, folders: 'test examples' },
]

const GARBAGE = 'garbage collection'
const NATIVE = 'Node outside JavaScript'
/** What V8 reports that is no function. */
const SPECIAL: ReadonlyMap<string, string> = new Map([
  ['(garbage collector)', GARBAGE],
  ['(program)', NATIVE],
  ['(root)', HTTP],
])
/** Functions made by `new Function` have a script without a name: those are the writers of rows. */
const GENERATED = 'validate, write JSON'
const OTHER = 'other packages'

const PROJECT = new URL('../../', import.meta.url).href

const byFolder = new Map(STEPS.flatMap(({ step, folders }) => (folders?.split(' ') ?? []).map((name) => [name, step])))
const byPackage = new Map(
  STEPS.flatMap(({ step, packages }) => (packages?.split(' ') ?? []).map((name) => [name, step])),
)

const nodeSteps = new Map(STEPS.map(({ step, node = step }) => [step, node]))

/** All steps, in the order of a request. */
export const STEP_NAMES: readonly string[] = [...STEPS.map(({ step }) => step), OTHER, HTTP, NATIVE, GARBAGE]

/** The step of a function; one of Node's own belongs to the step of ours that has called it. */
export function stepOf({ url, functionName, scriptId }: Runtime.CallFrame, caller: string | undefined): string {
  const special = SPECIAL.get(functionName)
  if (special !== undefined && url === '') return special
  const [, packageName] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url) ?? []
  if (packageName !== undefined) return byPackage.get(packageName) ?? OTHER
  if (url.startsWith(PROJECT))
    return stepOfFile(
      url
        .slice(PROJECT.length)
        .replace(/^dist\//, '')
        .split('/'),
    )
  if (url === '' && scriptId !== '0') return GENERATED
  if (caller === undefined) return HTTP
  return url.startsWith('node:') ? (nodeSteps.get(caller) ?? caller) : caller
}

function stepOfFile([top = '', folder = '', file]: readonly string[]): string {
  const name = top !== 'lib' || file === undefined ? top : folder
  return byFolder.get(name) ?? OTHER
}
