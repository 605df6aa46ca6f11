/**
 * For programs that tests start: `--import` of this file makes them take the package's modules from COMPILED_SOURCES, and
 * programs of the project in place of their sources, for which tsx is then not loaded.
 */
import { existsSync } from 'node:fs'
import { register } from 'node:module'
import { relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = process.env['COMPILED_SOURCES'] ?? ''
const entry = resolve(process.argv[1] ?? '')
const place = relative(fileURLToPath(new URL('../', import.meta.url)), entry)
const isCompiled = place.endsWith('.ts') && existsSync(resolve(folder, place.replace(/ts$/, 'js')))
// the text of --eval names what it imports in the project
const isProgram = isCompiled || process.argv[1] === undefined
const takesSources = process.execArgv.some((argument) => /\btsx\b/.test(argument))

// what is registered later is asked first
if (takesSources && !isProgram) await import('tsx')
if (takesSources || isCompiled) register('./compiled-hooks.mjs', import.meta.url, { data: { isProgram } })
