/** Names of static files: paths inside a folder of files, written with `/` (wire format, section 7). */

const SCHEME = /^[A-Za-z]:/

/**
 * True for a name that stays inside its folder on every system: not empty, not absolute, without `\`, NUL, and segments
 * that are empty, `.` or `..`.
 */
export function isAssetName(name: string): boolean {
  if (SCHEME.test(name) || name.includes('\\') || name.includes('\0')) return false
  return name.split('/').every((segment) => segment !== '' && segment !== '.' && segment !== '..')
}

/** True when a part of the name begins with a dot: such files are neither collected nor served. */
export function isHidden(name: string): boolean {
  return name.startsWith('.') || name.includes('/.')
}

/** The name as it is written in a URL. Needs no further escaping in HTML, CSS or a header. */
export function encodeAssetName(name: string): string {
  return encodeText(name).replaceAll('%2F', '/')
}

/** What follows a name in a reference, `?…` or `#…`, with nothing in it that could end an attribute or a CSS string. */
export function encodeSuffix(suffix: string): string {
  return suffix.replace(/[^\w?#&=.,:;~!*+$@%/-]/gu, encodeText)
}

/**
 * The name with the hash before its last extension, or at its end where it has none.
 * @example hashedName('js/app.min.js', '3879a5d930ae') // 'js/app.min.3879a5d930ae.js'
 */
export function hashedName(name: string, hash: string): string {
  const base = name.lastIndexOf('/') + 1
  const dot = name.lastIndexOf('.')
  return dot > base ? `${name.slice(0, dot)}.${hash}${name.slice(dot)}` : `${name}.${hash}`
}

function encodeText(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}
