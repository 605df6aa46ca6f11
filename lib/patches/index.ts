/** PATCH by JSON merge patches (RFC 7396): `koa-viewsets/patches`. */
export { mergePatch } from './merge-patch.js'
export { MergePatchParser } from './merge-patch-parser.js'
