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
  readonly items: (Item | Group)[]
}

const fromRoot = (path: string) => readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8')
const contents = fromRoot('docs/README.md')
const { version, description, repository } = JSON.parse(fromRoot('package.json'))
/** Where the repository shows its files; there is no such place yet. */
const files: string | undefined = repository?.url.replace(/^git\+|\.git$/g, '')

/** The table of contents as a sidebar that folds: a group for each heading, and within for each line such as `Resources:`. */
function sidebar(): Group[] {
  const groups: Group[] = []
  let inner: Group | undefined
  for (const [, heading, part, text = '', path = ''] of contents.matchAll(
    /^## (.+)$|^(\w[\w ]+):$|^(?:-|\d\.) \[(.+?)\]\((.+?)\.md\)/gm,
  )) {
    if (heading !== undefined) {
      inner = foldedGroup(heading)
      groups.push(inner)
    } else if (part !== undefined) {
      inner = foldedGroup(part)
      groups.at(-1)?.items.push(inner)
    } else inner?.items.push({ text: asHtml(text), link: `/${path}` })
  }
  return groups
}

function foldedGroup(text: string): Group {
  return { text, collapsed: true, items: [] }
}

/** A title as HTML: what stands in backticks is code. */
function asHtml(title: string): string {
  return title.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replace(/`([^`]+)`/g, '<code>$1</code>')
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
  readonly renderer: { readonly rules: Record<string, ((...given: unknown[]) => string) | undefined> }
}

function configure(markdown: Markdown): void {
  linkFiles(markdown)
  breakCode(markdown)
}

/** Files of the repository are no pages of the site: links to them lead there, and are text while there is no such place. */
function linkFiles(markdown: Markdown): void {
  markdown.core.ruler.push('link_files', ({ tokens, env }) => {
    for (const token of tokens) {
      let isText = false
      token.children = (token.children ?? []).filter((child) => {
        if (child.type === 'link_close') return !isText
        if (child.type !== 'link_open') return true
        const href = child.attrGet('href') ?? ''
        const file = fileOf(href, env.relativePath)
        isText = file !== undefined && files === undefined
        child.attrSet('href', file === undefined ? href.replace(/(^|\/)README\.md/, '$1contents.md') : `${files}/${file}`)
        return !isText
      })
    }
  })
}

/** The path of a file outside of the book in the repository, as `blob/main/CHANGELOG.md`; undefined where a link leads elsewhere. */
function fileOf(href: string, page: string): string | undefined {
  if (/^(?:[a-z]+:|#|\/)/.test(href)) return undefined
  const path = posix.normalize(posix.join('docs', posix.dirname(page), decodeURI(href)))
  return path.startsWith('docs/') ? undefined : `blob/main/${path}`
}

/** Long names, URLs and types may break behind a mark, so that tables have room. */
function breakCode({ renderer: { rules } }: Markdown): void {
  const plain = rules['code_inline']
  rules['code_inline'] = (...given) => plain?.(...given).replace(/(?<=[\w)}\]])([/.,_|=]|&amp;|&lt;)(?=\w)/g, '$1<wbr>') ?? ''
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

/**
 * How search finds and orders, in functions that run in the browser, too, so that they use nothing around them. A page is also
 * found by the name of its file, which is often the word that its title explains; a page stands before its sections, and the
 * lists of all names behind the pages that tell what they are for.
 */
const miniSearch = {
  options: {
    fields: ['title', 'titles', 'text', 'file'],
    extractField: (section: Record<string, unknown>, field: string) => {
      if (field !== 'file') return section[field]
      const [page = ''] = String(section['id']).split('#')
      return (section['titles'] as string[]).length === 0 ? page.slice(page.lastIndexOf('/') + 1) : ''
    },
    processTerm: (term: string) => term.toLowerCase().replace(/(?<=\w{2}[^s])s$/, ''),
  },
  searchOptions: {
    boost: { title: 4, file: 4, text: 1, titles: 1 },
    boostDocument: (id: string, _term: string, stored?: Record<string, unknown>) =>
      (/^[^#]*\/reference\/api\//.test(id) ? 0.4 : 1) * ((stored?.['titles'] as string[] | undefined)?.length ? 1 : 2),
  },
}

/** What search reads of a page: of the table of contents nothing, as it would be found by every title. */
function searchable(source: string, environment: Environment, markdown: { render(source: string, environment: Environment): string }) {
  return environment.relativePath === 'README.md' ? '' : markdown.render(source, environment)
}

export default {
  lang: 'en',
  title: 'koa-viewsets',
  description,
  head: [['link', { rel: 'icon', href: '/favicon.svg', type: 'image/svg+xml' }]],
  srcExclude: ['.vitepress/**'],
  rewrites: { 'README.md': 'contents.md' },
  cleanUrls: true,
  markdown: { config: configure, anchor: { slugify: anchorOf } },
  buildEnd: writeTexts,
  themeConfig: {
    logo: '/favicon.svg',
    search: { provider: 'local', options: { miniSearch, _render: searchable } },
    nav: [
      { text: 'Tutorial', link: '/tutorial/1-first-api' },
      { text: 'Contents', link: '/contents' },
      {
        text: version,
        items: [
          { text: 'What may change', link: '/reference/stability' },
          { text: 'From 0.1 to 0.2', link: '/upgrading' },
        ],
      },
    ],
    sidebar: sidebar(),
    outline: [2, 3],
    ...(files && { editLink: { pattern: `${files}/edit/main/docs/:path`, text: 'Edit this page' } }),
    footer: {
      message: `koa-viewsets ${version}, under the MIT licence · <a href="/contents">Contents</a> · <a href="/llms.txt">llms.txt</a>`,
    },
  },
}
