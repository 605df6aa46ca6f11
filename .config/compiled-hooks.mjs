/** Finds modules compiled, as tests do, by COMPILED_SOURCES: see compiled-sources.ts. */
import { existsSync, readFileSync } from 'node:fs'

const root = new URL('../', import.meta.url).href
const folder = process.env['COMPILED_SOURCES']
const compiled = `file://${folder}/`
const DOOR = /^koa-viewsets(?:\/([a-z-]+))?$/
const OURS = /^(?:lib\/(?!cli\/)|plugins\/)[^?#]+\.[jt]s$/
const PROGRAMS = /^(?:test|examples)\/[^?#]+\.[jt]s$/
const TSX = /^tsx$|\/tsx\/dist\/loader\.mjs$/
let isProgram = false

export function initialize(data) {
  isProgram = data.isProgram
}

function placeOf(specifier, parent) {
  const [isDoor, name] = DOOR.exec(specifier) ?? []
  if (isDoor) return name === 'plugins' ? 'plugins/index.js' : ['lib', name, 'index.js'].filter(Boolean).join('/')
  if (!/^(?:[./]|file:)/.test(specifier)) return undefined
  const { href } = new URL(specifier, parent ?? root)
  const place = href.startsWith(root) ? href.slice(root.length) : ''
  return OURS.test(place) || (isProgram && PROGRAMS.test(place)) ? place.replace(/ts$/, 'js') : undefined
}

export async function resolve(specifier, context, next) {
  if (isProgram && TSX.test(specifier)) return { url: 'data:text/javascript,', format: 'module', shortCircuit: true }
  const place = folder && placeOf(specifier, context.parentURL)
  if (!place) return next(specifier, context)
  const url = new URL(place, compiled)
  if (!existsSync(url)) throw new Error(`${place} was not found among what tests import: write the path in full`)
  return { url: url.href, format: 'module', shortCircuit: true }
}

/** They are JavaScript: no other loader has to look at them. */
export async function load(url, context, next) {
  if (!url.startsWith(compiled)) return next(url, context)
  return { format: 'module', source: readFileSync(new URL(url), 'utf8'), shortCircuit: true }
}
