/** The id of a server cursor: opaque, signed, and bound to its owner, view and path (wire format, section 3). */
import { type Caller, callerParts } from '../http/caller.js'
import { decodeBase64Url, encodeBase64Url, equalBytes, mac } from '../kernel/signing.js'

/** What an id is signed for. */
export interface ServerCursorScope {
  readonly secret: string
  readonly caller: Caller
  readonly view: string
  /** The frame of the path parameters. */
  readonly path: Uint8Array
}

const PART_BYTES = 16
const ID = /^(?:(?<node>[a-z0-9][a-z0-9-]{0,31})\.)?(?<text>[A-Za-z0-9_-]{64})$/
const NODE = /^[a-z0-9][a-z0-9-]{0,31}$/

/** True for a name that can stand before an id. */
export function isNodeName(text: string): boolean {
  return NODE.test(text)
}

/** The id for 16 random bytes. A proxy can route on `node`. */
export function writeServerCursorId(scope: ServerCursorScope, id: Uint8Array, node: string | undefined): string {
  const body = Buffer.concat([id, ownerTag(scope)])
  const text = encodeBase64Url(Buffer.concat([body, sign(scope, node, body)]))
  return node === undefined ? text : `${node}.${text}`
}

/** The random bytes of an id that was written for the same scope; null for any other string. */
export function readServerCursorId(scope: ServerCursorScope, text: string): Buffer | null {
  const groups = ID.exec(text)?.groups
  const bytes = decodeBase64Url(groups?.['text'] ?? '')
  if (bytes?.length !== 3 * PART_BYTES) return null
  const body = bytes.subarray(0, 2 * PART_BYTES)
  const isSigned = equalBytes(bytes.subarray(2 * PART_BYTES), sign(scope, groups?.['node'], body))
  const isOwn = equalBytes(body.subarray(PART_BYTES), ownerTag(scope))
  return isSigned && isOwn ? body.subarray(0, PART_BYTES) : null
}

/** A digest of the caller: who holds an id learns nothing of its owner. */
export function ownerTag({ secret, caller }: Pick<ServerCursorScope, 'secret' | 'caller'>): Buffer {
  return mac(secret, 'server-cursor/owner/v1', callerParts(caller), PART_BYTES)
}

function sign({ secret, view, path }: ServerCursorScope, node: string | undefined, body: Uint8Array): Buffer {
  return mac(secret, 'server-cursor/mac/v1', [node ?? '', view, path, body], PART_BYTES)
}
