/** The links of pages, and what is wrong with them. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { type Page, proseOf } from './book.js'

const LINK = /\]\((?<target>[^)\s]+)\)/g
const HEADING = /^#+ (.+)$/gm

/** The anchors of a page, as GitHub makes them of its headings. */
export function anchorsOf(page: Page): readonly string[] {
  const withoutCode = page.text.replace(/^( *)```.*?^\1```$/gms, '')
  return [...withoutCode.matchAll(HEADING)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replace(/[^\p{Letter}\p{Number} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

function targetsOf(page: Page): readonly string[] {
  return [...proseOf(page).matchAll(LINK)].map(({ groups }) => groups?.['target'] ?? '')
}

const ABSOLUTE = /^(?:https?|mailto):/

/** Those that stay in the package. */
export function linksOf(page: Page): readonly string[] {
  return targetsOf(page).filter((target) => !ABSOLUTE.test(target))
}

/** Those that lead elsewhere. */
export function addressesOf(page: Page): readonly string[] {
  return targetsOf(page).filter((target) => ABSOLUTE.test(target))
}

/**
 * What is wrong with a link, if anything is.
 * @param root the folder that paths of pages begin in
 */
export function faultOf(root: string, page: Page, link: string): string | undefined {
  const [path = '', anchor] = link.split('#')
  const file = path === '' ? page.path : normalize(join(dirname(page.path), path))
  if (!existsSync(join(root, file))) return `${page.path}: there is no ${file}`
  if (anchor === undefined) return undefined
  const target = file.endsWith('.md') ? { path: file, text: readFileSync(join(root, file), 'utf8') } : undefined
  return target && anchorsOf(target).includes(anchor) ? undefined : `${page.path}: ${file} has no #${anchor}`
}
