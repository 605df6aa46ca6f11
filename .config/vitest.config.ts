/** How the tests run: real PostgreSQL, the package imported by its own name. */
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { ALONE } from './alone-tests.js'
import { compiledSources } from './compiled-sources.js'
import { fastTests } from './fast-tests.js'

/** Tests that run compilers, over whole applications, the package or the book: `npm run check:compiled`. */
const COMPILED = [
  'test/api/client-declarations.test.ts',
  'test/api/client-document.test.ts',
  'test/api/published-package.test.ts',
  'test/docs/blocks.test.ts',
  'test/examples/client.test.ts',
  'test/lib/cli/hostile-names.test.ts',
  'test/lib/cli/init.test.ts',
  'test/lib/cli/init-shapes.test.ts',
  'test/lib/factories/editor.test.ts',
  'test/types/compile-costs.test.ts',
]
/** Tests of what differs from one Node to the next: `QUICK=node npm run test:quick`. */
const BY_NODE = [
  'test/api/uploads.test.ts',
  'test/api/abandoned-requests.test.ts',
  'test/api/client-requests.test.ts',
  'test/api/json-numbers.test.ts',
  'test/api/telemetry.test.ts',
  'test/api/values-sent-back.test.ts',
  'test/examples/quickstart.test.ts',
  'test/lib/parsers/parse-body.test.ts',
  'test/lib/postgres/{cancel-statement,row-contract,row-stream,run-statement,scoped-knex}.test.ts',
  'test/lib/webhooks/{post-webhook,resolve-host}.test.ts',
]
/** And of what differs from one PostgreSQL to the next, in less than a minute: `npm run test:quick`. */
const QUICK = [
  ...BY_NODE,
  'test/api/lookups.test.ts',
  'test/api/database-refusals.test.ts',
  'test/api/check-constraints.test.ts',
  'test/api/database-settings.test.ts',
  'test/api/row-level-security.test.ts',
  'test/api/table.test.ts',
  'test/lib/models/*.test.ts',
  'test/lib/postgres/database-errors.test.ts',
]
/** Tests of what a superuser may do, and of statements that are others, or more, for a role. */
const NOT_AS_ROLE = ['openapi', 'row-level-security', 'statements-of-writes', 'tenants'].map(
  (name) => `test/api/${name}.test.ts`,
)
/** Tests for which much is installed, by the variable of their scripts. */
const APART: Readonly<Record<string, string>> = {
  // an older application of which one resource moves: `npm run test:adoption`
  ADOPTION: 'test/api/older-application.test.ts',
  // pages about libraries that the project does not install: `npm run test:bridges`
  BRIDGES: 'test/docs/bridges.test.ts',
  // the book as a site: `npm run test:site`
  SITE: 'test/docs/site.test.ts',
}
const apart = Object.keys(APART).find((name) => process.env[name] === 'true')
const isCompiled = process.env['COMPILED'] === 'true'
const isFast = process.env['FAST'] === 'true'
const isQuick = Boolean(process.env['QUICK'])
const isRole = Boolean(process.env['DATABASE_ROLE'])
const isTraced = Boolean(process.env['TRACED'])
const isShuffled = Boolean(process.env['SHUFFLED'])
const fromRoot = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url))
const chosen = chosenFiles()
const alone = aloneFiles()

function chosenFiles(): readonly string[] {
  if (isCompiled) return COMPILED
  if (apart) return [APART[apart] as string]
  if (isFast) return fastTests(fromRoot(''))
  if (process.env['QUICK'] === 'node') return BY_NODE
  return isQuick ? QUICK : ['test/**/*.test.ts']
}

/** Those of the chosen files that do not share a process. */
function aloneFiles(): string[] {
  // what is set up for a role or a listener stays set up
  if (isCompiled || isRole || isTraced) return [...chosen]
  return isFast || isQuick || apart ? [] : [...ALONE]
}

const DOOR = /^koa-viewsets(?:\/([a-z-]+))?$/

/** The file that a name of the package stands for. */
function doorOf(source: string): string | undefined {
  const match = DOOR.exec(source)
  if (!match) return undefined
  const [, name] = match
  return fromRoot(
    name === 'plugins' ? 'plugins/index.ts' : name === undefined ? 'lib/index.ts' : `lib/${name}/index.ts`,
  )
}

/** @param isolate a process for each file */
function project(isolate: boolean): TestProjectInlineConfiguration {
  return {
    root: fromRoot(''),
    // not where files are watched: what is changed is to be seen
    plugins: process.argv.includes('run') ? [compiledSources(fromRoot(''), doorOf)] : [],
    resolve: {
      alias: [
        { find: /^koa-viewsets$/, replacement: fromRoot('lib/index.ts') },
        { find: /^koa-viewsets\/plugins$/, replacement: fromRoot('plugins/index.ts') },
        { find: /^koa-viewsets\/(?!plugins$)([a-z-]+)$/, replacement: fromRoot('lib/$1/index.ts') },
      ],
    },
    test: {
      name: isolate ? 'alone' : 'together',
      isolate,
      include: isolate ? alone : [...chosen],
      exclude: [
        ...configDefaults.exclude,
        ...(isolate ? [] : alone),
        ...(isCompiled ? [] : COMPILED),
        ...(apart ? [] : Object.values(APART)),
        ...(isRole ? NOT_AS_ROLE : []),
      ],
      setupFiles: [
        fromRoot('test/support/patience.ts'),
        ...(isolate ? [] : [fromRoot('test/support/as-found.ts')]),
        ...(isRole ? [fromRoot('test/support/as-role.ts')] : []),
        ...(isTraced ? [fromRoot('test/support/as-traced.ts')] : []),
      ],
      pool: 'forks',
      // vitest takes those alone first, and the longest: the short ones fill what is left, in processes that they keep.
      // By chance both kinds would be mixed, and a process given up for each file that wants its own.
      sequence: { groupOrder: isolate && isShuffled ? 1 : 0 },
      testTimeout: 30_000,
      // whatever else the machine does
      expect: { poll: { timeout: 15_000 } },
      hookTimeout: 60_000,
    },
  }
}

// for the compilers that tests start: see .ci/run
process.env['GOGC'] ??= 'off'

export default defineConfig({
  root: fromRoot(''),
  test: {
    ...(isShuffled && { sequence: { shuffle: { files: true } } }),
    projects: [project(false), project(true)],
    globalSetup: [
      'support/temporary-folder',
      ...(isFast ? [] : ['support/global-setup', 'trust/support/global-setup']),
    ].map((name) => fromRoot(`test/${name}.ts`)),
    // On two cores the default would be one file at a time. A file waits while PostgreSQL works, or a program that it started.
    maxWorkers: Math.max(isCompiled || isFast ? 2 : 3, availableParallelism() - 1),
    coverage: { enabled: false, include: ['lib/**', 'plugins/**'] },
  },
})
