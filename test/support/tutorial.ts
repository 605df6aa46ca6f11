/** The requests of a page, and its answers, as they are printed and as they are given. */

import { readFileSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { type Block, blocksOf, type Page } from './book.js'
import { connectTo, type TestRequest, type TestResponse } from './server.js'

/** A command on the page, and the block of its answer, if one is printed. */
export interface Step {
  readonly command: string
  readonly line: number
  readonly answer: Block | undefined
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** Writes what the programs answer into the pages, where it differs. */
const WRITES = process.env['WRITE_ANSWERS'] === 'true'
const ANSWERS = new Set(['json', 'http', 'text', 'csv'])
/** What the page calls the server. */
const HOST = 'localhost:3000'

/** The `curl`, `npx tsx` and `psql --csv` commands of a page, from top to bottom. */
export function stepsOf(page: Page): readonly Step[] {
  const blocks = blocksOf(page)
  return blocks.flatMap((block, index) => {
    if (block.language !== 'sh') return []
    const commands = block.text
      .replace(/\\\n\s*/g, '')
      .split('\n')
      .filter((line) => /^(?:curl|npx tsx|psql \w+ --csv) /.test(line))
    const next = blocks[index + 1]
    const answer = next && ANSWERS.has(next.language) ? next : undefined
    return commands.map((command, place) => ({
      ...{ command, line: block.line },
      answer: place === commands.length - 1 ? answer : undefined,
    }))
  })
}

/** The answer of a request as it is printed. A request without a printed answer must succeed. */
export async function askCurl({ command, answer }: Step, port: number, folder: string): Promise<string> {
  const response = await sendCurl(command, port, folder)
  const isPrintedError = answer?.language === 'http' || answer?.text.includes('"status": ')
  if (!WRITES && !isPrintedError)
    expect([command, response.status < 400, response.text]).toEqual([command, true, response.text])
  return printAnswer(response, answer ?? { language: 'json', text: '' })
}

/** Holds what was given to what the page prints, or writes it there. */
export function expectPrinted(page: string, { command, line, answer }: Step, given: string): void {
  if (answer === undefined) return
  if (WRITES && withoutChance(given) !== withoutChance(answer.text)) writeAnswer(page, answer.text, given)
  const place = `${page}:${line} ${command}`
  if (!WRITES) expect({ place, answer: withoutChance(given) }).toEqual({ place, answer: withoutChance(answer.text) })
}

function writeAnswer(page: string, before: string, after: string): void {
  const path = join(ROOT, page)
  const text = readFileSync(path, 'utf8')
  writeFileSync(
    path,
    text.replace(before, () => after),
  )
}

/** Sends what a command of curl would. Files are read from the folder. */
async function sendCurl(command: string, port: number, folder: string): Promise<TestResponse> {
  return connectTo(port).send(await requestOf(command, folder))
}

/** What a command of curl would send. Files are read from the folder. */
export async function requestOf(command: string, folder: string): Promise<TestRequest & { readonly path: string }> {
  const request = readCurl(command)
  const headers: Record<string, string> = { Host: HOST, ...request.headers }
  if (request.parts.length > 0) {
    const form = new FormData()
    for (const [name, value] of request.parts) {
      if (value.startsWith('@'))
        form.append(name, new Blob([readFileSync(join(folder, value.slice(1)))]), value.slice(1))
      else form.append(name, value)
    }
    const encoded = new Request('http://localhost', { method: 'POST', body: form })
    headers['Content-Type'] = String(encoded.headers.get('content-type'))
    request.body = Buffer.from(await encoded.arrayBuffer())
  }
  const { method, path, body } = request
  return { ...(method && { method }), path, headers, ...(body !== undefined && { body }) }
}

interface Curl {
  method?: string
  path: string
  headers: Record<string, string>
  body?: string | Buffer
  parts: [name: string, value: string][]
}

/** @throws Error for an option that this does not know */
function readCurl(command: string): Curl {
  const words = [...command.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, one, two, bare]) => one ?? two ?? bare ?? '',
  )
  const curl: Curl = { path: '', headers: {}, parts: [] }
  for (let at = 1; at < words.length; at++) {
    const word = words[at] as string
    const next = () => words[++at] as string
    if (word === '-i' || word === '-g') continue
    else if (word === '-X') curl.method = next()
    else if (word === '-d') curl.body = next()
    else if (word === '--json') {
      curl.body = next()
      curl.headers['Content-Type'] = 'application/json'
    } else if (word === '-F') curl.parts.push(split(next(), '='))
    else if (word === '-H') {
      const [name, value] = split(next(), ': ')
      curl.headers[name] = value
    } else if (word.startsWith(HOST)) curl.path = word.slice(HOST.length)
    else throw new Error(`${command}: ${word} is not known here`)
  }
  return curl
}

function split(text: string, separator: string): [string, string] {
  const place = text.indexOf(separator)
  return [text.slice(0, place), text.slice(place + separator.length)]
}

/** The answer as the page prints it: a body, or with `http` also the status line and the headers that are printed there. */
function printAnswer(answer: TestResponse, { language, text }: Pick<Block, 'language' | 'text'>): string {
  const body = answer.json === undefined ? answer.text : printJson(answer.json)
  if (language !== 'http') return `${body}\n`
  const printed = /^[\w-]+(?=: )/gm
  const names = (text.split('\n\n')[0] ?? '').match(printed) ?? []
  const head = names.map((name) => `${name}: ${String(answer.headers[name.toLowerCase()])}`)
  const status = `HTTP/1.1 ${answer.status} ${http.STATUS_CODES[answer.status]}`
  const shown = text.includes('\n\n') && body !== '' ? ['', body] : []
  return [status, ...head, ...shown, ''].join('\n')
}

const WIDTH = 100

/** JSON with short objects and lists on one line. */
function printJson(value: unknown, indent = ''): string {
  const short = JSON.stringify(value, null, 1).replace(/\n */g, ' ')
  if (typeof value !== 'object' || value === null || indent.length + short.length <= WIDTH) return short
  const inner = `${indent}  `
  const isList = Array.isArray(value)
  const items = Object.entries(value).map(
    ([name, item]) => `${inner}${isList ? '' : `${JSON.stringify(name)}: `}${printJson(item, inner)}`,
  )
  return `${isList ? '[' : '{'}\n${items.join(',\n')}\n${indent}${isList ? ']' : '}'}`
}

/** Without points in time and random names of files, which no two runs have in common, nor the lines that depend on their length. */
function withoutChance(text: string): string {
  return text
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, 'TIME')
    .replace(/\b[0-9a-f]{32}\b/g, 'NAME')
    .replace(/\s+/g, ' ')
}
