/** The test files that get a process of their own; all others share a few, where the package is loaded and warm. */

/** They measure time, memory or the event loop, in which others would be seen. */
const MEASURE = [
  'test/api/request-costs.test.ts',
  'test/api/streams-memory.test.ts',
  'test/lib/parsers/json-parser.test.ts',
  'test/lib/parsers/multi-part-parser.test.ts',
  'test/lib/throttling/memory-store.test.ts',
  'test/trust/costs.test.ts',
  'test/trust/loop.test.ts',
  'test/trust/memory.test.ts',
]

/** They wait for programs, processes and clocks more than they compute. */
const WAIT = [
  'test/api/drop-in.test.ts',
  'test/browser/*.test.ts',
  'test/docs/tutorial.test.ts',
  'test/examples/atlas*.test.ts',
  'test/examples/cluster*.test.ts',
  'test/examples/postgres.test.ts',
  'test/lib/fields/date-time-fields.test.ts',
  'test/trust/{faults,hand-over,mcp-conformance,mcp-leaving,network,pgbouncer,proxies,replicas}.test.ts',
]

/** They change what cannot be put back: the parsers of pg, its methods, and as the atlas does, where throttles and usage count. */
const CHANGE = [
  'test/api/{openapi,own-parsers,throttling}.test.ts',
  'test/examples/opentelemetry.test.ts',
  'test/trust/{access-matrix,mcp-access}.test.ts',
]

/** They look at what a process keeps: which statements have a name, which names were read, what was told, what is mounted. */
const ONCE = [
  'test/api/{filter-groups,logs,planned-pages,prepared-statements}.test.ts',
  'test/golden/*.test.ts',
  'test/lib/assets/static-files.test.ts',
  'test/lib/postgres/prepared-names.test.ts',
]

export const ALONE: readonly string[] = [...MEASURE, ...WAIT, ...CHANGE, ...ONCE]
