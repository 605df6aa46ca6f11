/** PATCH by JSON merge patches (RFC 7396) and JSON patches (RFC 6902): `koa-viewsets/patches`. */
export { type ApplyPatchOptions, applyPatch } from './json-patch.js'
export { mergePatch } from './merge-patch.js'
export { JsonPatchParser, type JsonPatchParserOptions, MergePatchParser } from './patch-parsers.js'
