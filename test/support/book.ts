/** The pages of the book, README first, and the blocks of code on them. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readProjectFile } from './program.js'

const DOCS = fileURLToPath(new URL('../../docs', import.meta.url))

export interface Page {
  /** Such as `docs/how-to/uploads.md`. */
  readonly path: string
  readonly text: string
}

export interface Block {
  readonly page: string
  /** The line of the page that the text begins in, from 1. */
  readonly line: number
  /** What stands behind the three backticks: `ts`, `sh`, `json` … */
  readonly language: string
  readonly text: string
  /** The name in a comment `<!-- setup: name -->` above the block. */
  readonly setup?: string
  /** The path that a first line `// src/books.ts` or `-- sql/1-books.sql` names: the block is that file. */
  readonly file?: string
}

/** README, and all pages of docs/ in the order of their paths; its index.md is the home of the site, made for VitePress alone. */
export function readBook(): readonly Page[] {
  const pages = readdirSync(DOCS, { recursive: true })
    .map(String)
    .filter((name) => name.endsWith('.md') && name !== 'index.md' && !/^\.|node_modules/.test(name))
    .sort()
  return ['README.md', ...pages.map((name) => join('docs', name))].map((path) => ({
    path,
    text: readProjectFile(path),
  }))
}

const FENCE = /^(?<indent> *)```(?<language>[a-z]*)\n(?<text>.*?)^\k<indent>```$/gms
const SETUP = /<!-- setup: ([\w-]+) -->\n+$/
const FILE = /^(?:\/\/|--) ([\w.-]+(?:\/[\w.-]+)+)\n/

/** The blocks of a page, from top to bottom. */
export function blocksOf({ path, text: page }: Page): readonly Block[] {
  return [...page.matchAll(FENCE)].map(({ index, groups = {} }) => {
    const { language = '', text = '' } = groups
    const setup = SETUP.exec(page.slice(0, index))?.[1]
    const file = FILE.exec(text)?.[1]
    const line = page.slice(0, index).split('\n').length + 1
    return { page: path, line, language, text, ...(setup && { setup }), ...(file && { file }) }
  })
}

/** True of a page with `<!-- program -->`: its blocks are one program, which answers its requests as they are printed. */
export function isProgram({ text }: Page): boolean {
  return /^<!-- program -->$/m.test(text)
}

/** The page without its blocks of code and its code in lines. */
export function proseOf({ text }: Page): string {
  return text.replace(FENCE, '').replace(/`[^`\n]*`/g, '')
}

/** The files that a page of the tutorial leaves behind: those of the pages before it, and its own. */
export function tutorialFiles(pages: readonly Page[]): readonly { page: string; files: Record<string, string> }[] {
  let files: Record<string, string> = {}
  return pages
    .filter(({ path }) => /^docs\/tutorial\/\d/.test(path))
    .map((page) => {
      const own = blocksOf(page).flatMap(({ file, text }) => (file === undefined ? [] : [[file, text] as const]))
      files = { ...files, ...Object.fromEntries(own) }
      return { page: page.path, files }
    })
}
