/** The blocks of code of the book as modules, and what the compiler says of them. */
import { execFile } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Block, blocksOf, isProgram, type Page, tutorialFiles } from './book.js'
import { readProjectFile } from './program.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const PATHS = JSON.parse(readProjectFile('tsconfig.json')).compilerOptions.paths as Record<string, [string]>

/** Module names by the names that they export. */
type Origins = ReadonlyMap<string, string>

interface CheckedModule {
  /** Below the folder. */
  readonly path: string
  readonly text: string
  /** Where it stands: its second line is this line of the page. */
  readonly page: string
  readonly line: number
}

/** What the compiler says of all blocks of these pages, a line each: `docs/how-to/uploads.md:12 Cannot find name …`. */
export async function checkBlocks(pages: readonly Page[], folder: string): Promise<string[]> {
  const modules = [...pages.flatMap(pageModules), ...tutorialModules(pages)]
  const path = (file: string) => join(ROOT, file)
  const config = {
    extends: path('tsconfig.json'),
    compilerOptions: {
      // a reader's project may be less strict than this one
      ...{ noImplicitOverride: false, verbatimModuleSyntax: false, isolatedModules: false },
      typeRoots: [path('node_modules/@types')],
      paths: Object.fromEntries(Object.entries(PATHS).map(([name, [file]]) => [name, [path(file)]])),
    },
    include: ['pages', 'tutorial'],
  }
  writeAll(folder, { 'package.json': '{ "type": "module" }', 'tsconfig.json': JSON.stringify(config) })
  writeAll(folder, Object.fromEntries(modules.map(({ path: file, text }) => [file, text])))
  symlinkSync(path('node_modules'), join(folder, 'node_modules'))
  const said = await run(path('node_modules/typescript/bin/tsc'), ['-p', folder, '--pretty', 'false'], folder)
  return said
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith(' '))
    .map((line) => toPage(line, modules))
}

/** What a page that is a program takes for granted. */
const PROGRAM = 'test/docs/setup/program.ts'

/** The program of a page, as files of one folder: `program.ts`, and its blocks behind it, in their order. */
export function programFiles(page: Page): Record<string, string> {
  const setup = join(ROOT, PROGRAM.replace(/ts$/, 'js'))
  const blocks = pageModules(page).map(({ path, text }) => [basename(path), text.replaceAll(setup, './program.js')])
  return { 'program.ts': readProjectFile(PROGRAM), ...Object.fromEntries(blocks) }
}

function pageModules(page: Page): CheckedModule[] {
  const common = setupNames(isProgram(page) ? 'program' : 'library')
  const above = new Map<string, string>()
  return blocksOf(page)
    .filter(({ language, file }) => language === 'ts' && file === undefined)
    .map((block) => {
      const name = `${block.page.replace(/\W/g, '-')}-${block.line}`
      const declared = declaredIn(block.text)
      const text = toModule(block, declared, originsOf(block, above, common), above)
      for (const each of declared) above.set(each, `./${name}.js`)
      return { path: `pages/${name}.ts`, text, page: block.page, line: block.line }
    })
}

/** Where names come from that a block leaves the import of out: its setup, the page above, the library, the package. */
function originsOf({ setup }: Block, above: Origins, common: Origins): readonly Origins[] {
  if (setup === 'none') return []
  const own = setup === undefined ? [] : [setupNames(setup)]
  return [...own, above, common, doorNames()]
}

/** The program that each page of the tutorial ends in, as files. */
function tutorialModules(pages: readonly Page[]): CheckedModule[] {
  return tutorialFiles(pages).flatMap(({ page, files }, index) =>
    Object.entries(files)
      .filter(([path]) => path.endsWith('.ts'))
      .map(([path, text]) => ({ path: `tutorial/${index + 1}/${path}`, text, page: `${page} (${path})`, line: 2 })),
  )
}

/** The block behind one line that imports what it leaves out, and before one that exports what it declares. */
function toModule(block: Block, declared: ReadonlySet<string>, origins: readonly Origins[], above: Origins): string {
  // files of a page are its blocks
  const text = block.text.replace(RELATIVE_IMPORT, (all, start: string, names: string) => {
    const from = namesOf(names).map((name) => above.get(name))[0]
    return from ? `${start}'${from}'` : all
  })
  const used = new Set(plain(text).match(/(?<![\w$]|(?<!\.\.)\.)[A-Za-z_$][\w$]*/g))
  const imports = [...used]
    .filter((name) => !declared.has(name))
    .flatMap((name) => {
      const from = origins.map((names) => names.get(name)).find((module) => module !== undefined)
      return from === undefined ? [] : [`import { ${name} } from '${from}'`]
    })
  const exported = exportedIn(text)
  const hidden = [...declared].filter((name) => !exported.has(name))
  return `${imports.join('; ')}\n${text}\nexport { ${hidden.join(', ')} }\n`
}

const EXPORT =
  /^export (?:(?:abstract |async |declare )*(?:class|const|let|function|interface|type|enum) ([\w$]+)|(?:type )?\{([^}]*)\}$)/gm

function exportedIn(text: string): Set<string> {
  return new Set([...text.matchAll(EXPORT)].flatMap(([, name, list]) => (name ? [name] : namesOf(list))))
}

/** The text without its comments and strings. */
function plain(text: string): string {
  return text.replace(/\/\*.*?\*\/|(?<!:)\/\/.*?$|'(?:[^'\\\n]|\\.)*'/gms, ' ')
}

const RELATIVE_IMPORT = /^(import (?:type )?\{([^}]*)\} from )'\.[^']*'/gm
const DECLARATION =
  /^(?:export )?(?:abstract |async |declare )*(?:class|const|let|function|interface|type|enum) (?:([\w$]+)|[{[]([^}\]]*)[}\]])/gm
const IMPORT = /^import (?:type )?(?:(\w+),? ?)?(?:\{([^}]*)\}|\* as (\w+))? ?from/gm

function declaredIn(text: string): Set<string> {
  const own = [...plain(text).matchAll(DECLARATION)].flatMap(([, name, list]) => (name ? [name] : namesOf(list)))
  return new Set([...own, ...importedIn(text)])
}

function importedIn(text: string): Set<string> {
  return new Set(
    [...text.matchAll(IMPORT)].flatMap(([, name, list, space]) => [
      ...namesOf(list),
      ...[name ?? [], space ?? []].flat(),
    ]),
  )
}

/** `a, type B, c as d, e: f = 1` are a, B, d and f. */
function namesOf(list = ''): string[] {
  return list
    .split(',')
    .map((item) => item.replace(/=.*/s, '').trim())
    .flatMap((item) => /([\w$]+)$/.exec(item)?.[1] ?? [])
}

function setupNames(setup: string): Origins {
  const file = `test/docs/setup/${setup}.ts`
  const names = [...exportedIn(readProjectFile(file))]
  return new Map(names.map((name) => [name, join(ROOT, file.replace(/ts$/, 'js'))]))
}

let doors: Origins | undefined

/** A name that several doors of the package have, such as `or` of permissions and of rules, is the main one's. */
function doorNames(): Origins {
  doors ??= new Map(
    Object.entries(PATHS)
      .toSorted(([one], [other]) => Number(one === 'koa-viewsets') - Number(other === 'koa-viewsets'))
      .flatMap(([door, [file]]) => {
        const text = readProjectFile(file)
        const lists = [...text.matchAll(/^export (?:type )?\{(.*?)\} from/gms)].flatMap(([, list]) => namesOf(list))
        return [...lists, ...exportedIn(text)].map((name) => [name, door] as const)
      }),
  )
  return doors
}

/** `pages/x.ts(3,5): error TS2304: …` as the place on its page. */
function toPage(message: string, modules: readonly CheckedModule[]): string {
  const [, file, line, text] = /^(.*?)\((\d+),\d+\): (.*)$/.exec(message) ?? []
  const module = modules.find(({ path }) => file?.endsWith(path))
  return module ? `${module.page}:${module.line + Number(line) - 2} ${text}` : message
}

function writeAll(folder: string, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
}

async function run(program: string, args: readonly string[], cwd: string): Promise<string> {
  return new Promise((resolve) => {
    const options = { cwd, maxBuffer: 64 * 1024 * 1024 }
    execFile(process.execPath, [program, ...args], options, (error, stdout, stderr) =>
      resolve(error ? stdout + stderr || error.message : ''),
    )
  })
}
