/**
 * Messages of the Model Context Protocol over HTTP, in two revisions: 2026-07-28, in which each request says all about itself,
 * and 2025-11-25, which begins by `initialize`. Neither needs a session. See docs/reference/mcp.md.
 */

import type { Context } from '../http/context.js'
import { quote } from '../kernel/quote.js'
import { isRecord, ownMember } from '../kernel/records.js'

/** The revision whose requests say all about themselves. */
export const STATELESS = '2026-07-28'
/** Revisions that begin by a handshake; for tools they are alike. */
const WITH_HANDSHAKE: readonly string[] = ['2025-11-25', '2025-06-18']
/** All that is spoken, the newest first. */
export const REVISIONS: readonly string[] = [STATELESS, ...WITH_HANDSHAKE]

const META = 'io.modelcontextprotocol'
const VERSION_OF_REQUEST = `${META}/protocolVersion`
const CAPABILITIES = `${META}/clientCapabilities`
/** Where a result says which server has made it. */
export const SERVER_INFO = `${META}/serverInfo`

/** Codes of JSON-RPC 2.0, and those that the protocol adds. */
export const CODES = {
  parseError: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internalError: -32_603,
  headerMismatch: -32_020,
  unsupportedVersion: -32_022,
} as const

/** An answer that is an error of the protocol, and no result of a tool. */
export class ProtocolError extends Error {
  readonly code: number
  readonly status: number
  readonly data: unknown

  /** @param options.status of the HTTP response */
  constructor(code: number, message: string, options: { readonly status?: number; readonly data?: unknown } = {}) {
    super(message)
    this.code = code
    this.status = options.status ?? 400
    this.data = options.data
  }
}

export type MessageId = string | number

/** A request, or a notification, which has no id. */
export interface Message {
  readonly id: MessageId | undefined
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
  /** The revision that the client speaks; undefined for `initialize`, which asks for one. */
  readonly revision: string | undefined
}

/** The id of what may be a request, for the answer to one that is refused. */
export function idOf(data: unknown): MessageId | undefined {
  const id = isRecord(data) ? ownMember(data, 'id') : undefined
  return isId(id) ? id : undefined
}

/**
 * Reads the body of a POST, with the headers that repeat what it says.
 * @returns undefined for a response, which is accepted and means nothing here
 * @throws ProtocolError it is no message, or of a revision that is not spoken
 */
export function readMessage(ctx: Context, data: unknown): Message | undefined {
  if (Array.isArray(data)) throw invalid('A list of messages is none: send one message in each request')
  if (!isRecord(data) || ownMember(data, 'jsonrpc') !== '2.0') throw invalid('Expected a message of JSON-RPC 2.0')
  const [id, method, params = {}] = [ownMember(data, 'id'), ownMember(data, 'method'), ownMember(data, 'params')]
  if (method === undefined && (Object.hasOwn(data, 'result') || Object.hasOwn(data, 'error'))) return undefined
  if (typeof method !== 'string') throw invalid('Expected a method')
  if (id !== undefined && !isId(id)) throw invalid('Expected an id that is a text or a whole number')
  if (!isRecord(params)) throw new ProtocolError(CODES.invalidParams, 'Expected params to be an object')
  const message = { id, method, params }
  // no notification of a client means anything here
  if (id === undefined) return { ...message, revision: undefined }
  return { ...message, revision: revisionOf(ctx, message) }
}

type Unversioned = Omit<Message, 'revision'>

function revisionOf(ctx: Context, { method, params }: Unversioned): string | undefined {
  const header = headerOf(ctx, 'mcp-protocol-version')
  const meta = ownMember(params, '_meta')
  const said = isRecord(meta) ? ownMember(meta, VERSION_OF_REQUEST) : undefined
  const isHandshake = said === undefined && (header === undefined || WITH_HANDSHAKE.includes(header))
  if (isHandshake && method === 'initialize') return undefined
  if (isHandshake && header !== undefined) return header
  if (header === undefined) throw mismatch('there is no MCP-Protocol-Version')
  if (said === undefined) throw new ProtocolError(CODES.invalidParams, `_meta lacks ${VERSION_OF_REQUEST}`)
  if (said !== header) throw mismatch(`MCP-Protocol-Version is not the ${VERSION_OF_REQUEST} of the body`)
  if (WITH_HANDSHAKE.includes(header)) return header
  if (header !== STATELESS) {
    throw new ProtocolError(CODES.unsupportedVersion, 'Unsupported protocol version', {
      data: { supported: REVISIONS, requested: header },
    })
  }
  if (!isRecord(ownMember(meta as Record<string, unknown>, CAPABILITIES))) {
    throw new ProtocolError(CODES.invalidParams, `_meta lacks ${CAPABILITIES}`)
  }
  checkHeaders(ctx, method, params)
  return header
}

/** Proxies route by these headers, so they must say what the body says. @throws ProtocolError */
function checkHeaders(ctx: Context, method: string, params: Readonly<Record<string, unknown>>): void {
  if (headerOf(ctx, 'mcp-method') !== method) throw mismatch('Mcp-Method is not the method of the body')
  if (method !== 'tools/call') return
  const name = headerOf(ctx, 'mcp-name')
  if (name === undefined || decoded(name) !== ownMember(params, 'name'))
    throw mismatch('Mcp-Name is not the name of the body')
}

const ENCODED = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/

/** What a header says that could not be written as it is. */
function decoded(value: string): string {
  const encoded = ENCODED.exec(value)?.[1]
  return encoded === undefined ? value : Buffer.from(encoded, 'base64').toString()
}

/** The revision that a handshake agrees on: that of the client where it is spoken, else the newest that has one. */
export function agreedRevision(params: Readonly<Record<string, unknown>>): string {
  const asked = ownMember(params, 'protocolVersion')
  if (typeof asked !== 'string') throw new ProtocolError(CODES.invalidParams, 'Expected a protocolVersion')
  return WITH_HANDSHAKE.find((one) => one === asked) ?? (WITH_HANDSHAKE[0] as string)
}

/** The error for a method that there is not. */
export function unknownMethod({ method, revision }: Message): ProtocolError {
  const data = method === 'initialize' ? { supported: REVISIONS } : undefined
  const status = revision === STATELESS ? 404 : 200
  return new ProtocolError(CODES.methodNotFound, `Method not found: ${quote(method)}`, { status, data })
}

function isId(value: unknown): value is MessageId {
  return typeof value === 'string' || Number.isSafeInteger(value)
}

function headerOf({ req }: Context, name: string): string | undefined {
  const value = req.headers[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}

function invalid(message: string): ProtocolError {
  return new ProtocolError(CODES.invalidRequest, message)
}

function mismatch(problem: string): ProtocolError {
  return new ProtocolError(CODES.headerMismatch, `Header mismatch: ${problem}`)
}
