/** What is published: modules joined in few files have the names, and each thing once, as the sources have. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { doorFiles } from '../docs/reference/doors.js'
import { type Page, readBook } from '../support/book.js'
import { compilers } from '../support/compile-costs.js'
import { createFolder } from '../support/files.js'
import { faultOf, linksOf } from '../support/links.js'
import { readProjectFile } from '../support/program.js'

const PROJECT = fileURLToPath(new URL('../..', import.meta.url))

type Names = Readonly<Record<string, string>>

/** What each door exports: the kind of each, and the own name of a class or function. */
const READ = `
  const doors = JSON.parse(process.argv[1])
  const own = (value) => (typeof value === 'function' ? 'function ' + value.name : typeof value)
  const namesOf = (exports) => Object.fromEntries(Object.entries(exports).map(([name, value]) => [name, own(value)]))
  const load = (from) => (typeof require === 'undefined' ? import(from) : require(from))
  Promise.all(doors.map(async ([door, from]) => [door, namesOf(await load(from))])).then((all) => {
    console.log(JSON.stringify(Object.fromEntries(all)))
  })
`

function run(doors: readonly (readonly [door: string, from: string])[], ...options: string[]): Record<string, Names> {
  const parameters = ['--input-type=module', ...options, '-e', READ, JSON.stringify(doors)]
  return JSON.parse(execFileSync(process.execPath, parameters, { cwd: PROJECT, encoding: 'utf8' }))
}

/** The packages that a file of dist loads at once, itself or by others. */
function packagesOf(file: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(file)) return seen
  seen.add(file)
  const code = readProjectFile(join('dist', file))
  for (const [, from = ''] of code.matchAll(/^(?:import|export) (?:[^'"]* from )?['"]([^'"]+)['"]/gm)) {
    if (from.startsWith('.')) packagesOf(join(dirname(file), from), seen)
    else seen.add(/^(?:@[^/]+\/)?[^/]+/.exec(from)?.[0] ?? from)
  }
  return seen
}

const doors = doorFiles()

beforeAll(() => {
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: PROJECT })
  pack()
}, 240_000)

/** Code of an application that has both, with overrides that take the context. */
const AUGMENTED = `
import type Koa from 'koa'
import { BasePermission, type Context, ModelViewSet, TokenAuthentication } from 'koa-viewsets'
import { errors } from 'koa-viewsets/plugins'
class IsKnown extends BasePermission {
  override hasPermission(ctx: Koa.Context) {
    return ctx.isAuthenticated() && ctx.session?.isNew === false
  }
}
class Token extends TokenAuthentication {
  override async authenticate(ctx: Context) {
    return ctx.isUnauthenticated() ? null : super.authenticate(ctx)
  }
}
export class Books extends ModelViewSet {
  static override permissionClasses = [IsKnown]
  static override authenticationClasses = [Token]
  override async performCreate() {
    await this.ctx.logout()
  }
}
export const use = (app: Koa) => app.use(errors())
`

/** The package as npm packs it, and unpacked. */
let tarball: string
let packed: string

function pack(): void {
  const folder = createFolder()
  const args = ['pack', '--silent', '--pack-destination', folder]
  tarball = join(folder, execFileSync('npm', args, { cwd: PROJECT, encoding: 'utf8' }).trim())
  execFileSync('tar', ['-xf', tarball, '-C', folder])
  packed = join(folder, 'package')
}

describe('the package', () => {
  it('exports by each door what its source does, under the same own names', () => {
    const published = run(doors.map(([door]) => [door, door]))
    const sources = run(
      doors.map(([door, path]) => [door, join(PROJECT, path)]),
      '--import=tsx',
    )
    expect(published).toEqual(sources)
    expect(published['koa-viewsets']).toMatchObject({ ModelViewSet: 'function ModelViewSet' })
  })

  it('exports the same to what loads no ES modules by require(), as Jest', () => {
    // jose is ES modules alone
    const required = doors.filter(([door]) => door !== 'koa-viewsets/jwt').map(([door]) => [door, door] as const)
    const options = ['--input-type=commonjs', '--no-experimental-require-module']
    expect(run(required, ...options)).toEqual(run(required))
    const script = `import('koa-viewsets').then((main) => console.log(main.APIRouter === require('koa-viewsets').APIRouter))`
    // Node itself has one copy, whoever asks
    expect(execFileSync(process.execPath, ['-e', script], { cwd: PROJECT, encoding: 'utf8' })).toBe('true\n')
  })

  it('refuses classes of another copy of it, which would be no classes of its own', () => {
    const script = `
      const { Model } = require('objection')
      const other = require(${JSON.stringify(join(PROJECT, 'dist/cjs/lib/index.cjs'))})
      class Book extends Model { static tableName = 'books' }
      const { APIRouter, modelSerializer, modelViewSet } = require('koa-viewsets')
      const serializerOf = (copy, title) => copy.modelSerializer(Book, { fields: ['title'], declaredFields: { title } })
      const text = new other.StringField()
      const viewSets = [
        () => other.modelViewSet(Book, { serializerClass: serializerOf(other, text) }),
        () => modelViewSet(Book, { serializerClass: serializerOf(other, text) }),
        () => modelViewSet(Book, { serializerClass: serializerOf({ modelSerializer }, text) }),
        () => modelViewSet(Book, { permissionClasses: [other.IsAuthenticated], serializerClass: modelSerializer(Book, { fields: '__all__' }) }),
      ]
      for (const viewSet of viewSets) {
        try { new APIRouter().register('books', viewSet()) } catch (error) { console.log(error.message) }
      }
    `
    const options = { cwd: PROJECT, encoding: 'utf8' } as const
    const told = execFileSync(process.execPath, ['-e', script], options).trim().split('\n')
    const names = ['BookViewSet', 'BookSerializer', 'StringField', 'BookViewSet.permissionClasses[0]: IsAuthenticated']
    expect(told).toEqual(names.map((name) => expect.stringContaining(`${name} is of another copy of koa-viewsets`)))
  })

  it('has a thing that two doors export once', () => {
    const script = `
      const [main, ...others] = await Promise.all(${JSON.stringify(doors.map(([door]) => door))}.map((door) => import(door)))
      for (const other of others)
        for (const [name, value] of Object.entries(other)) if (name in main && main[name] !== value) console.log(name)
    `
    const options = { cwd: PROJECT, encoding: 'utf8' } as const
    expect(execFileSync(process.execPath, ['--input-type=module', '-e', script], options)).toBe('')
  })

  it('loads what is optional behind the doors that need it', () => {
    const { peerDependencies, peerDependenciesMeta } = JSON.parse(readProjectFile('package.json'))
    const needed = doors.map(([door, path]) => [
      door,
      Object.keys(peerDependencies).filter((peer) => packagesOf(path.replace('.ts', '.js')).has(peer)),
    ])
    const optional = Object.keys(peerDependenciesMeta)
    const asked = needed.map(([door, peers = []]) => [door, optional.filter((peer) => peers.includes(peer))])
    expect(asked.filter(([, peers]) => peers?.length)).toEqual([
      ['koa-viewsets/jwt', ['jose']],
      ['koa-viewsets/testing', ['ajv']],
    ])
    expect(Object.fromEntries(needed)).toMatchObject({ 'koa-viewsets/client': [] })
  })

  it('is loaded from few files', () => {
    const files = readdirSync(join(PROJECT, 'dist'), { recursive: true, encoding: 'utf8' })
    expect(files.filter((file) => file.endsWith('.js')).length).toBeLessThan(100)
    expect(files).toContain(join('lib', 'cli', 'main.js'))
    for (const [, path] of doors) expect(files).toContain(path.replace('.ts', '.d.ts'))
  })

  it('brings the book along, with links that hold there, and nothing of how it is made', () => {
    const files = readdirSync(packed, { recursive: true, encoding: 'utf8' })
    const pages = files
      .filter((path) => /\.(?:md|txt)$/.test(path))
      .map((path) => ({ path, text: readFileSync(join(packed, path), 'utf8') }))
    const paths = pages.map(({ path }) => path)
    for (const page of readBook()) expect(paths).toContain(page.path)
    expect(paths).toEqual(expect.arrayContaining(['AGENTS.md', 'llms.txt', 'CHANGELOG.md', 'SECURITY.md']))
    expect(pages.flatMap((page) => linksOf(page).map((link) => faultOf(packed, page, link))).filter(Boolean)).toEqual(
      [],
    )
    const llms = pages.find(({ path }) => path === 'llms.txt')
    expect(llms?.text).toMatch(/^# koa-viewsets\n\n> .+\n/)
    expect(linksOf(llms as Page)).toContain('docs/AGENTS.md')
    expect(files.filter((path) => /node_modules|vitepress|\.test\.|openapi\.json/.test(path))).toEqual([])
    expect(existsSync(join(PROJECT, 'AGENTS.md'))).toBe(false)
  })

  it('tells of a module that Node does not read what to do', () => {
    const module = join(createFolder({ 'api.tsx': 'export const api = 1' }), 'api.tsx')
    const { status, stderr } = spawnSync(process.execPath, ['dist/lib/cli/main.js', 'explain', module], {
      cwd: PROJECT,
      encoding: 'utf8',
    })
    expect([status, stderr]).toEqual([1, expect.stringContaining("NODE_OPTIONS='--import tsx'")])
  })

  describe.each([
    { koa: '@types/koa', node: '@types/node', by: 'TypeScript 7', of: 'module' },
    { koa: '@types/koa', node: 'types-node-latest', by: 'TypeScript 7', of: 'module' },
    { koa: 'types-koa-2', node: '@types/node', by: 'TypeScript 7', of: 'module' },
    { koa: 'types-koa-2', node: 'types-node-latest', by: 'TypeScript 7', of: 'module' },
    { koa: '@types/koa', node: 'types-node-latest', by: 'TypeScript 6', of: 'module' },
    { koa: 'types-koa-2', node: '@types/node', by: 'TypeScript 5.9', of: 'module' },
    { koa: '@types/koa', node: '@types/node', by: 'TypeScript 5.9', of: 'commonjs' },
  ])('has declarations that compile by $by for $of, beside $koa and $node', ({ koa, node, by, of }) => {
    it('with what passport and koa-session add to Context', { timeout: 120_000 }, () => {
      const imports = doors.map(([door], index) => `import * as door${index} from '${door}'`)
      const app = createFolder({
        'package.json': JSON.stringify({ type: of }),
        'app.ts': [
          ...imports,
          `export const all = [${doors.map((_, index) => `door${index}`).join()}]`,
          AUGMENTED,
        ].join('\n'),
        'tsconfig.json': JSON.stringify({
          compilerOptions: {
            // of these only the older one keeps ES modules from CommonJS
            ...{ module: of === 'module' ? 'nodenext' : 'node16', target: 'es2023', strict: true, noEmit: true },
            types: ['node', 'koa-passport', 'koa-session'],
            // what is in node_modules is read, too, with the types that lie beside it there; CommonJS has those of ES modules
            ...{ skipLibCheck: of === 'commonjs', preserveSymlinks: true },
          },
          files: ['app.ts'],
        }),
      })
      const modules = join(app, 'node_modules')
      mkdirSync(join(modules, '@types'), { recursive: true })
      const link = (name: string, from = join('node_modules', name)) =>
        symlinkSync(join(PROJECT, from), join(modules, name))
      const others: Readonly<Record<string, string>> = { koa, node }
      for (const name of readdirSync(join(PROJECT, 'node_modules'))) {
        if (name !== '@types' && name !== 'koa-viewsets' && !name.startsWith('.')) link(name)
      }
      for (const name of readdirSync(join(PROJECT, 'node_modules/@types'))) {
        link(`@types/${name}`, join('node_modules', others[name] ?? `@types/${name}`))
      }
      symlinkSync(packed, join(modules, 'koa-viewsets'))
      const compiler = compilers().find(({ name }) => name.startsWith(by))
      const { stdout } = spawnSync(process.execPath, [...(compiler?.args ?? []), '-p', app], { encoding: 'utf8' })
      expect(stdout).toBe('')
    })
  })
})
