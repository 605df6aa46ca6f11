/** PATCH by JSON merge patches (RFC 7396) and JSON patches (RFC 6902): `koa-viewsets/patches`. */
export { type ApplyPatchOptions, applyPatch } from './json-patch.js'
export { JsonPatchParser, type JsonPatchParserOptions } from './json-patch-parser.js'
export { mergePatch } from './merge-patch.js'
export { MergePatchParser } from './merge-patch-parser.js'
