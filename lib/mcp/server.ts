/** MCP server: answers messages of which tools there are for the caller, and calls them. */

import { STATUS_CODES } from 'node:http'
import { answerError } from '../http/answer-error.js'
import type { Context, Middleware } from '../http/context.js'
import { ApiError, AuthenticationFailed } from '../kernel/errors.js'
import { didYouMean } from '../kernel/near-miss.js'
import { quote } from '../kernel/quote.js'
import { isRecord, ownMember } from '../kernel/records.js'
import type { Steps } from '../kernel/turns.js'
import { documentSteps } from '../openapi/document.js'
import { JSONParser } from '../parsers/json-parser.js'
import { type Parser, parseBody } from '../parsers/parser.js'
import { notPrepared } from '../router/prepare.js'
import { RouteTable } from '../router/route-table.js'
import type { Endpoint } from '../views/endpoint.js'
import { callTool } from './call-tool.js'
import {
  agreedRevision,
  CODES,
  idOf,
  type Message,
  type MessageId,
  ProtocolError,
  REVISIONS,
  readMessage,
  SERVER_INFO,
  STATELESS,
  unknownMethod,
} from './messages.js'
import type { SettledOptions } from './options.js'
import { type PermittedTool, ToolCaller } from './permitted-tools.js'
import type { ToolResult } from './result.js'
import { type Tool, type ToolAPI, toolsOf } from './tools-of.js'

/** The most sets of tools whose texts are kept: callers have few kinds of rights. */
const MOST_LISTS = 16

/** Members of a result, as JSON texts by name. */
type Members = Readonly<Record<string, string>>

export class ToolServer {
  readonly #api: ToolAPI
  readonly #options: SettledOptions
  readonly #parsers: readonly Parser[]
  readonly #answer: Middleware
  #tools: ReadonlyMap<string, Tool> = new Map()
  /** What was listed, by the set of permitted tools. */
  readonly #listed = new Map<string, string>()
  #paths = new RouteTable<Endpoint>([])

  /** @throws {ConfigurationError} the router is prepared, and a tool is none */
  constructor(api: ToolAPI, options: SettledOptions) {
    this.#api = api
    this.#options = options
    this.#parsers = [new JSONParser({ limit: options.maxMessageBytes })]
    this.#answer = api.routes()
    api.whenPrepared((endpoints, tools) => this.#compile(endpoints, tools))
  }

  *#compile(endpoints: readonly Endpoint[], named: Map<string, readonly string[]>): Steps<void> {
    const { apiVersion } = this.#options
    this.#paths = new RouteTable(endpoints)
    // only 3.2 describes actions that are asked by QUERY
    const document = yield* documentSteps(endpoints, {
      openapi: '3.2',
      ...(apiVersion !== undefined && { apiVersion }),
    })
    this.#listed.clear()
    this.#tools = toolsOf({ endpoints, document }, this.#options)
    for (const { name, calls } of this.#tools.values()) {
      for (const { id } of calls.values()) named.set(id, [...new Set([...(named.get(id) ?? []), name])])
    }
  }

  /** Answers a request to the endpoint. */
  async serve(ctx: Context): Promise<void> {
    ctx.set({ 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' })
    if (!isAllowedOrigin(ctx, this.#options.origins)) {
      return refuse(ctx, undefined, new ProtocolError(CODES.invalidRequest, 'Origin not allowed', { status: 403 }))
    }
    if (ctx.method !== 'POST') {
      ctx.set('Allow', 'POST')
      return refuse(ctx, undefined, new ProtocolError(CODES.invalidRequest, 'Send messages by POST', { status: 405 }))
    }
    let data: unknown
    try {
      data = (await parseBody(ctx, this.#parsers)).data
      const message = readMessage(ctx, data)
      // notifications, and responses to what nobody has asked
      if (message?.id === undefined) accept(ctx)
      else await this.#handle(ctx, message, message.id)
    } catch (error) {
      this.#fail(ctx, idOf(data), data === undefined && error instanceof ApiError ? unread(error) : error)
    }
  }

  async #handle(ctx: Context, message: Message, id: MessageId): Promise<void> {
    await this.#prepare()
    const { method, params, revision } = message
    if (method === 'tools/call') return this.#call(ctx, message, id)
    const isStateless = revision === STATELESS
    if (method === 'tools/list') return send(ctx, id, this.#resultOf(revision, await this.#list(ctx, message)))
    if (isStateless && method === 'server/discover') {
      await this.#requireCaller(ctx)
      return send(ctx, id, this.#resultOf(revision, this.#discovery()))
    }
    if (revision === undefined) {
      await this.#requireCaller(ctx)
      return send(ctx, id, this.#handshake(params))
    }
    if (!isStateless && method === 'ping') return send(ctx, id, {})
    throw unknownMethod(message)
  }

  async #prepare(): Promise<void> {
    try {
      await this.#api.prepare()
    } catch (cause) {
      throw notPrepared(cause)
    }
  }

  /** Where clients are told how to get tokens, one without is told so at once. @throws AuthenticationFailed */
  async #requireCaller(ctx: Context): Promise<ToolCaller> {
    const caller = new ToolCaller(ctx, this.#options.apiVersion)
    if (this.#options.resource && !(await caller.isKnown(this.#tools.values()))) throw new AuthenticationFailed()
    return caller
  }

  async #list(ctx: Context, { params, revision }: Message): Promise<Members> {
    if (ownMember(params, 'cursor') !== undefined)
      throw new ProtocolError(CODES.invalidParams, 'There is one page of tools')
    const caller = await this.#requireCaller(ctx)
    const tools = this.#textOf(await caller.permitted(this.#tools.values()), revision !== STATELESS)
    const cache = { ttlMs: String(this.#options.toolsMaxAge * 1_000), cacheScope: '"private"' }
    return { tools, ...(revision === STATELESS && cache) }
  }

  /** The definitions of tools, written once for each set of them: what an anonymous caller may see is asked for most. */
  #textOf(permitted: readonly PermittedTool[], objectsOnly: boolean): string {
    const key = `${objectsOnly} ${permitted.map(({ tool, calls }) => `${tool.name} ${calls.map(({ id }) => id).join()}`).join(';')}`
    const known = this.#listed.get(key)
    if (known !== undefined) return known
    const text = `[${permitted.map(({ tool, calls }) => tool.define(calls, { objectsOnly })).join(',')}]`
    if (this.#listed.size >= MOST_LISTS) this.#listed.clear()
    this.#listed.set(key, text)
    return text
  }

  async #call(ctx: Context, { params, revision }: Message, id: MessageId): Promise<void> {
    const caller = await this.#requireCaller(ctx)
    const name = ownMember(params, 'name')
    const given = ownMember(params, 'arguments') ?? {}
    const tool = typeof name === 'string' ? this.#tools.get(name) : undefined
    if (!tool) {
      const permitted = await caller.permitted(this.#tools.values())
      const near = didYouMean(
        String(name),
        permitted.map((one) => one.tool.name),
      )
      throw new ProtocolError(CODES.invalidParams, `Unknown tool: ${quote(name)}${near}`, { status: 200 })
    }
    if (!isRecord(given))
      throw new ProtocolError(CODES.invalidParams, 'Expected arguments to be an object', { status: 200 })
    const { apiVersion, maxResultBytes } = this.#options
    const { 'idempotency-key': key } = ctx.req.headers
    const idempotencyKey = typeof key === 'string' ? key : undefined
    const leadsTo = (path: string) => this.#paths.find(path)?.endpoint
    const calling = { apiVersion, maxResultBytes, idempotencyKey, leadsTo, answer: this.#answer }
    const { result, status, challenge } = await callTool(ctx, tool, given, calling)
    const { resource } = this.#options
    if (resource && (status === 401 || (status === 403 && challenge !== ''))) {
      ctx.set('WWW-Authenticate', resource.challenge(challenge))
      return refuse(ctx, id, new ProtocolError(status, result.content[0] ?? '', { status }))
    }
    send(ctx, id, this.#resultOf(revision, membersOf(result, revision === STATELESS)))
  }

  #discovery(): Members {
    const { instructions } = this.#options
    return {
      supportedVersions: JSON.stringify(REVISIONS),
      capabilities: CAPABILITIES,
      ...(instructions !== undefined && { instructions: JSON.stringify(instructions) }),
      ttlMs: String(this.#options.toolsMaxAge * 1_000),
      cacheScope: '"public"',
    }
  }

  #handshake(params: Message['params']): Members {
    const { serverInfo, instructions } = this.#options
    return {
      protocolVersion: JSON.stringify(agreedRevision(params)),
      capabilities: CAPABILITIES,
      serverInfo: JSON.stringify(serverInfo),
      ...(instructions !== undefined && { instructions: JSON.stringify(instructions) }),
    }
  }

  #resultOf(revision: string | undefined, members: Members): Members {
    if (revision !== STATELESS) return members
    const meta = JSON.stringify({ [SERVER_INFO]: this.#options.serverInfo })
    return { resultType: '"complete"', ...members, _meta: meta }
  }

  #fail(ctx: Context, id: MessageId | undefined, error: unknown): void {
    if (error instanceof ProtocolError) {
      refuse(ctx, id, error)
      return
    }
    answerError(ctx, error)
    const { body, status } = ctx
    if (typeof body !== 'string' || ctx.headerSent) return
    const { resource } = this.#options
    if (resource && status === 401)
      ctx.set('WWW-Authenticate', resource.challenge(String(ctx.res.getHeader('WWW-Authenticate') ?? '')))
    const data: unknown = JSON.parse(body)
    const code = status === 500 ? CODES.internalError : status
    // an application may shape errors in its own way
    const detail = isRecord(data) ? ownMember(data, 'detail') : undefined
    const message = typeof detail === 'string' ? detail : STATUS_CODES[status]
    write(ctx, id, { error: JSON.stringify({ code, message, data }) })
  }
}

/** The list of tools changes by deployments only, which nobody is told of. */
const CAPABILITIES = JSON.stringify({ tools: {} })

/** What could not be read as JSON, or at all. */
function unread({ status, detail }: ApiError): ProtocolError {
  return new ProtocolError(status === 400 ? CODES.parseError : CODES.invalidRequest, detail, { status })
}

function membersOf({ content, structured, isObject, isError }: ToolResult, isStateless: boolean): Members {
  return {
    content: JSON.stringify(content.map((text) => ({ type: 'text', text }))),
    ...(structured !== undefined && (isObject || isStateless) && { structuredContent: structured }),
    isError: String(isError),
  }
}

function accept(ctx: Context): void {
  // else Koa would write the name of the status
  ctx.body = null
  ctx.status = 202
}

function send(ctx: Context, id: MessageId, members: Members): void {
  ctx.status = 200
  write(ctx, id, { result: objectOf(members) })
}

function refuse(ctx: Context, id: MessageId | undefined, { code, message, status, data }: ProtocolError): void {
  ctx.status = status
  write(ctx, id, { error: JSON.stringify({ code, message, ...(data !== undefined && { data }) }) })
}

/** Writes a message of parts that are JSON already, so that numbers keep their digits. */
function write(ctx: Context, id: MessageId | undefined, members: Members): void {
  ctx.type = 'application/json'
  ctx.body = objectOf({ jsonrpc: '"2.0"', ...(id !== undefined && { id: JSON.stringify(id) }), ...members })
}

function objectOf(members: Members): string {
  return `{${Object.entries(members)
    .map(([name, json]) => `${JSON.stringify(name)}:${json}`)
    .join(',')}}`
}

const LOOPBACK = /^https?:\/\/(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i

/** True without an `Origin`, of a page of this machine, and of the origins that are allowed. */
function isAllowedOrigin({ req }: Context, allowed: ReadonlySet<string>): boolean {
  const { origin } = req.headers
  return origin === undefined || LOOPBACK.test(origin) || allowed.has(origin)
}
