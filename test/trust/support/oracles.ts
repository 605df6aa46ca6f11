/** What must hold after every attack: each oracle returns what it found, nothing when all is well. */
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { type TestedDocument, validateResponse } from 'koa-viewsets/testing'
import { LEAKS } from '../../support/client.js'
import type { Hit, Shot } from './client.js'
import type { TrialDatabase, TrialServer, TrialState } from './trial.js'

/** How long what a request has left behind may take to be gone. */
const SETTLE_MILLISECONDS = 8_000

/** Logged statements with a word in them. What PostgreSQL says of a refused value is no statement. */
export async function findInStatements(log: string, word: string): Promise<string[]> {
  const found: string[] = []
  let isStatement = false
  for await (const line of createInterface({ input: createReadStream(log) })) {
    if (!line.startsWith('\t')) isStatement = /\b(?:LOG|STATEMENT|CONTEXT|QUERY|DETAIL): /.test(line)
    if (isStatement && line.includes(word)) found.push(line.slice(0, 500))
  }
  return found
}

/** Rules for every answer: never 5xx, nothing of the inside, the one form of errors. */
export function findInAnswer({ shot, status, headers, text, failure, milliseconds }: Hit): string[] {
  const found: string[] = []
  if (failure !== undefined) found.push(`no answer: ${failure}`)
  if (status >= 500) found.push(`status ${status}`)
  if (milliseconds > 10_000) found.push(`took ${Math.round(milliseconds)} ms`)
  if (status >= 400) {
    found.push(...findLeaks(shot, text))
    const isJson = headers['content-type'] === 'application/json; charset=utf-8'
    // what Node's own parser refuses never reaches us
    const isNodes = headers['content-type'] === undefined && headers.connection === 'close'
    if (!isJson && !isNodes) found.push(`is ${headers['content-type']}`)
    if (isJson && headers['cache-control'] !== 'no-store') found.push(`may be stored: ${headers['cache-control']}`)
    if (isJson && shot.method !== 'HEAD') found.push(...findInError(status, text))
  }
  return found
}

/** As short as they can be: what stands between one echo and the next is no statement. */
const SHORT_LEAKS = LEAKS.map(({ source, flags }) => new RegExp(source.replace('{0,400}', '{0,400}?'), flags))

/** What an answer tells of the inside. */
export function findLeaks(shot: Shot, text: string): string[] {
  return stringsOf(text).flatMap((one) => leaksOf(shot, one).map((told) => `tells ${told}`))
}

/** What a text tells that the client has not sent. */
function leaksOf(shot: Shot, text: string): string[] {
  return SHORT_LEAKS.flatMap((leak) => {
    let rest = text
    for (;;) {
      const told = leak.exec(rest)?.[0]
      if (told === undefined) return []
      if (!isEcho(shot, told)) return [told]
      rest = rest.replace(told, () => ' '.repeat(told.length))
    }
  })
}

/** Each name and text of JSON by itself: a statement is in one of them, and what clients send may be in several. */
function stringsOf(text: string): string[] {
  const strings: string[] = []
  try {
    JSON.parse(text, (name, value: unknown) => {
      strings.push(name)
      if (typeof value === 'string') strings.push(value)
      return value
    })
    return strings
  } catch {
    return [text]
  }
}

/** True for what the client itself has sent: of a refused value up to 64 characters are repeated. */
function isEcho({ path, body = '' }: Shot, told: string): boolean {
  const letters = (text: string) => text.replace(/[^a-z0-9]/gi, '')
  const sent = `${path.replace(/%[0-9a-f]{2}/gi, '')} ${body.toString()}`
  return letters(sent).includes(letters(told))
}

/** What the document does not describe, of the answer to a request that it does. */
export function findUndescribed(
  document: TestedDocument,
  { shot: { method, path }, status, headers, text }: Hit,
): string[] {
  const isJson = headers['content-type']?.startsWith('application/json') && text !== ''
  const body: unknown = isJson ? JSON.parse(text) : text
  const problems = validateResponse(document, { method, path, status, headers, body })
  return problems.filter((problem) => !problem.endsWith('the document has no such path'))
}

function findInError(status: number, text: string): string[] {
  try {
    const body = JSON.parse(text) as { detail?: unknown; status?: unknown }
    return typeof body.detail === 'string' && body.status === status ? [] : ['has no detail and status']
  } catch {
    return ['is no JSON']
  }
}

/** What the app and the database still hold. Waits for what is on its way out. */
export async function findLeftovers(
  server: TrialServer,
  database: TrialDatabase,
  before: TrialState,
  patience = SETTLE_MILLISECONDS,
): Promise<string[]> {
  const end = Date.now() + patience
  for (;;) {
    const found = await lookForLeftovers(server, database, before)
    if (found.length === 0 || Date.now() > end) return found
    await sleep(200)
  }
}

async function lookForLeftovers(server: TrialServer, database: TrialDatabase, before: TrialState): Promise<string[]> {
  if (server.child.exitCode !== null || server.child.signalCode !== null) return [`the app ended:\n${server.errors()}`]
  const found: string[] = []
  const now = await server.state()
  const sessions = await database.query<{ state: string; query: string }>(
    `select state, left(query, 100) as query from pg_stat_activity
      where application_name = 'trial' and state is distinct from 'idle'`,
  )
  for (const { state, query } of sessions) found.push(`a connection is ${state}: ${query}`)
  if (now.used > 0) found.push(`${now.used} connections are used`)
  if (now.pending > 0) found.push(`${now.pending} wait for a connection`)
  if (now.temporaryFiles.length > 0) found.push(`files are left: ${now.temporaryFiles.join(', ')}`)
  if (Math.abs(now.descriptors - before.descriptors) > 2) {
    found.push(`${now.descriptors} descriptors are open, there were ${before.descriptors}`)
  }
  const added = now.prototype.filter((name) => !before.prototype.includes(name))
  if (added.length > 0) found.push(`Object.prototype has ${added.join(', ')}`)
  const words = /Unhandled|MaxListeners|DeprecationWarning/.exec(server.errors())
  if (words) found.push(`stderr says ${words[0]}`)
  return found
}
