/** A name server on 127.0.0.1 that knows what a test tells it, which it is asked for by this process until the test ends. */
import { createSocket } from 'node:dgram'
import dns from 'node:dns'
import { once } from 'node:events'
import { isIPv4 } from 'node:net'
import { onTestFinished } from 'vitest'

/** Types of records (RFC 1035 section 3.2.2, RFC 3596). */
const TYPES: Readonly<Record<number, 'A' | 'AAAA'>> = { 1: 'A', 28: 'AAAA' }

/** What of a host is answered: addresses of both kinds, or nothing at all. */
export type Hosts = Readonly<Record<string, readonly string[] | 'silence'>>

/** @returns the questions that were asked so far */
export async function serveNames(hosts: Hosts): Promise<readonly string[]> {
  const questions: string[] = []
  const socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => {
    const { host, type, end } = questionOf(query)
    questions.push(`${type} ${host}`)
    const known = hosts[host]
    if (known !== 'silence') socket.send(answerTo(query.subarray(0, end), type, known), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const before = dns.getServers()
  dns.setServers([`127.0.0.1:${socket.address().port}`])
  onTestFinished(() => {
    dns.setServers(before)
    socket.close()
  })
  return questions
}

function questionOf(query: Buffer): { host: string; type: string; end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { host: labels.join('.').toLowerCase(), type: TYPES[query.readUInt16BE(at + 1)] ?? 'other', end: at + 5 }
}

function answerTo(question: Buffer, type: string, known: readonly string[] | undefined): Buffer {
  const records = (known ?? []).filter((address) => (type === 'A') === isIPv4(address)).map(recordOf)
  const head = Buffer.from(question)
  // an answer with authority, of this many records; 3 says that there is no such name
  head.writeUInt16BE(0x8580 + (known ? 0 : 3), 2)
  head.writeUInt16BE(records.length, 6)
  head.writeUInt32BE(0, 8)
  return Buffer.concat([head, ...records])
}

function recordOf(address: string): Buffer {
  const bytes = isIPv4(address) ? Buffer.from(address.split('.').map(Number)) : bytesOfIPv6(address)
  // the name of the question, the type, the internet, to be kept for no time
  const head = Buffer.from([0xc0, 12, 0, isIPv4(address) ? 1 : 28, 0, 1, 0, 0, 0, 0, 0, bytes.length])
  return Buffer.concat([head, bytes])
}

function bytesOfIPv6(address: string): Buffer {
  const [left = '', right] = address.split('::').map((half) => half.split(':').filter((group) => group !== ''))
  const groups = [...left, ...Array<string>(8 - left.length - (right?.length ?? 0)).fill('0'), ...(right ?? [])]
  return Buffer.from(groups.map((group) => group.padStart(4, '0')).join(''), 'hex')
}
