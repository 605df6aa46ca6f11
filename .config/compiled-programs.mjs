/** For programs that tests start: `--import` of this file makes them take the package's modules from COMPILED_SOURCES. */
import { register } from 'node:module'

register('./compiled-hooks.mjs', import.meta.url)
