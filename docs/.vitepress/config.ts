/** The book as a static site: `npm run docs` builds it, search needs no server. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

interface Item {
  readonly text: string
  readonly link: string
}

interface Group {
  readonly text: string
  readonly collapsed: boolean
  readonly items: Item[]
}

const contents = readFileSync(fileURLToPath(new URL('../README.md', import.meta.url)), 'utf8')

/** The table of contents as a sidebar: a group for each of its headings. */
function sidebar(): Group[] {
  const groups: Group[] = []
  for (const [, heading, text = '', path = ''] of contents.matchAll(/^## (.+)$|\[([^\]]+)\]\(([^)]+)\.md\)/gm)) {
    if (heading !== undefined) groups.push({ text: heading, collapsed: false, items: [] })
    else groups.at(-1)?.items.push({ text, link: `/${path}` })
  }
  return groups
}

interface Token {
  readonly type: string
  readonly content: string
  attrGet(name: string): string | null
  attrSet(name: string, value: string): void
}

interface Environment {
  readonly relativePath: string
}

/** What this needs of markdown-it. */
interface Markdown {
  readonly core: {
    readonly ruler: {
      push(name: string, rule: (state: { tokens: { children: Token[] | null }[]; env: Environment }) => void): void
    }
  }
}

/** Files of the repository are no pages of the site: links to them are shown as text. The table of contents is its first page. */
function withoutFiles(markdown: Markdown): void {
  markdown.core.ruler.push('without_files', ({ tokens, env }) => {
    for (const token of tokens) {
      let isFile = false
      token.children = (token.children ?? []).filter((child) => {
        if (child.type === 'link_close') return !isFile
        if (child.type !== 'link_open') return true
        const href = child.attrGet('href') ?? ''
        isFile = leadsOut(href, env.relativePath)
        child.attrSet('href', href.replace(/(^|\/)README\.md/, '$1index.md'))
        return !isFile
      })
    }
  })
}

function leadsOut(href: string, page: string): boolean {
  if (/^(?:[a-z]+:|#|\/)/.test(href)) return false
  return posix.normalize(posix.join(posix.dirname(page), decodeURI(href))).startsWith('..')
}

/** The anchor of a heading as GitHub makes it, so that one link holds in the repository and here. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{Letter}\p{Number} _-]/gu, '')
    .replaceAll(' ', '-')
}

interface Site {
  readonly srcDir: string
  readonly outDir: string
  readonly pages: readonly string[]
}

/** For tools that read: the table of contents, and all pages in its order as one file. */
function writeTexts({ srcDir, outDir, pages }: Site): void {
  const order = [...contents.matchAll(/\]\(([^)]+\.md)\)/g)].map(([, path]) => path as string)
  const texts = order.filter((path) => pages.includes(path)).map((path) => readPage(join(srcDir, path)))
  writeFileSync(join(outDir, 'llms.txt'), contents.replace(/\.md\)/g, ')'))
  writeFileSync(join(outDir, 'llms-full.txt'), texts.join('\n'))
}

/** The page without its comments, which are for tests. */
function readPage(path: string): string {
  return readFileSync(path, 'utf8').replace(/^<!-- .* -->\n+/gm, '')
}

export default {
  title: 'koa-viewsets',
  description: 'A REST API for Koa, made of Objection models, on PostgreSQL.',
  srcExclude: ['.vitepress/**'],
  rewrites: { 'README.md': 'index.md' },
  cleanUrls: true,
  markdown: { config: withoutFiles, anchor: { slugify: anchorOf } },
  buildEnd: writeTexts,
  themeConfig: {
    search: { provider: 'local' },
    nav: [
      { text: 'Tutorial', link: '/tutorial/1-first-api' },
      { text: 'Contents', link: '/' },
    ],
    sidebar: sidebar(),
    outline: [2, 3],
  },
}
