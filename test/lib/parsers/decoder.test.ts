import { PassThrough } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import type { Context } from '../../../lib/http/context.js'
import { type Decoder, decoderOf, feed } from '../../../lib/parsers/read-body.js'
import { seededRandom } from '../../support/seeded-random.js'

const KB = 1024

/** Bytes that no coding makes smaller. */
function noise(size: number): Buffer {
  const random = seededRandom(5)
  return Buffer.from(Array.from({ length: size }, () => random(256)))
}

it('a body that comes faster than it is decoded waits', async () => {
  const plain = noise(600 * KB)
  const packed = gzipSync(plain)
  const req = new PassThrough({ highWaterMark: 1024 * KB })
  const decoder = (decoderOf('gzip') as () => Decoder)()
  let most = 0
  req.on('data', () => {
    most = Math.max(most, decoder.writableLength)
  })
  feed({ req } as unknown as Context, decoder)
  for (let at = 0; at < packed.length; at += 100 * KB) req.write(packed.subarray(at, at + 100 * KB))
  req.end()
  const parts: Buffer[] = []
  for await (const part of decoder) parts.push(part as Buffer)
  expect(Buffer.concat(parts).equals(plain)).toBe(true)
  // one chunk, and no more of what has come meanwhile
  expect(most).toBeLessThanOrEqual(100 * KB)
})

it('what comes after its decoder has failed is thrown away, while somebody is still at work on a piece of it', () => {
  const req = new PassThrough()
  const decoder = (decoderOf('gzip') as () => Decoder)()
  feed({ req } as unknown as Context, decoder)
  req.emit('data', Buffer.alloc(1 * KB))
  decoder.destroy()
  for (let chunk = 0; chunk < 10; chunk++) req.emit('data', Buffer.alloc(1 * KB))
  req.emit('data', Buffer.alloc(8 * KB))
  expect(decoder.writableLength).toBe(0)
})
