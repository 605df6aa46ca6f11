/** What an editor shows of TypeScript code in this project, by the language service of TypeScript 5.9. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type TypeScript from '../../examples/client/node_modules/typescript/lib/typescript.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
// that of TypeScript 7 has no API yet; the example of a typed client has one with it
const ts = createRequire(join(ROOT, 'examples/client/package.json'))('typescript') as typeof TypeScript

export interface Editor {
  /** Opens code as a file of this project. */
  open(code: string): OpenFile
}

export interface OpenFile {
  /** What the compiler says is wrong, a message each. */
  readonly errors: readonly string[]
  /** The code that it underlines for each of them. */
  readonly underlined: readonly string[]
  /** What the editor strikes through or suggests, a message each. */
  readonly suggestions: readonly string[]
  /** What is shown over the last place where this stands. */
  hover(text: string): string
}

/** An editor, which reads the project once. */
export function openEditor(): Editor {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, ROOT)
  const file = join(ROOT, 'test/types/open.ts')
  let text = ''
  let version = 0
  const service = ts.createLanguageService({
    getCompilationSettings: () => options,
    getScriptFileNames: () => [file],
    getScriptVersion: (name) => (name === file ? String(version) : '0'),
    getScriptSnapshot: (name) => {
      if (name === file) return ts.ScriptSnapshot.fromString(text)
      return ts.sys.fileExists(name) ? ts.ScriptSnapshot.fromString(readFileSync(name, 'utf8')) : undefined
    },
    getCurrentDirectory: () => ROOT,
    getDefaultLibFileName: (given) => join(dirname(ts.getDefaultLibFilePath(given)), ts.getDefaultLibFileName(given)),
    fileExists: ts.sys.fileExists,
    readFile: ts.sys.readFile,
    readDirectory: ts.sys.readDirectory,
    directoryExists: ts.sys.directoryExists,
    getDirectories: ts.sys.getDirectories,
  })
  const flat = (diagnostics: readonly TypeScript.Diagnostic[]) =>
    diagnostics.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
  return {
    open(code) {
      text = code
      version++
      const found = [...service.getSyntacticDiagnostics(file), ...service.getSemanticDiagnostics(file)]
      return {
        errors: flat(found),
        underlined: found.map(({ start = 0, length = 0 }) => code.slice(start, start + length)),
        suggestions: flat(service.getSuggestionDiagnostics(file)),
        hover: (place) => {
          const info = service.getQuickInfoAtPosition(file, code.lastIndexOf(place))
          return ts.displayPartsToString(info?.displayParts)
        },
      }
    },
  }
}
