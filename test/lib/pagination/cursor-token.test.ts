import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeBase64Url, frameText, mac } from '../../../lib/kernel/signing.js'
import { type Cursor, type CursorScope, CursorTokens } from '../../../lib/pagination/cursor-token.js'
import type { Position } from '../../../lib/pagination/list-source.js'
import type { PositionTag } from '../../../lib/queryset/position-tags.js'

const S = '0123456789abcdef0123456789abcdef'
const none = ''

function writeCursor(of: CursorScope, cursor: Cursor): string | null {
  return new CursorTokens(of).write(cursor)
}

function readCursor(of: CursorScope, token: string | undefined): Cursor | null {
  return new CursorTokens(of).read(token)
}

/** A scope; a tag that ends in `?` is nullable. */
function scope(view: string, ordering: string, tags: string[], filters = none, sealed = false): CursorScope {
  const terms = tags.map((tag) => ({ tag: tag.replace('?', '') as PositionTag, nullable: tag.endsWith('?') }))
  return { secret: S, view, ordering, filters, terms, sealed }
}

const book = scope('book', '-id', ['int'])
const C1 = 'bmV4dDppbnQ6NDI6Nzg3Y2NiY2UxOGVjZDMyNjU3MGU4MmNlZjA5MTFmODY'

/** The vectors C1 to C10. */
const vectors: [name: string, CursorScope, 'next' | 'prev', Position, string][] = [
  ['vector C1', book, 'next', ['42'], C1],
  ['vector C2', book, 'prev', ['10'], 'cHJldjppbnQ6MTA6YTQ5NDk4N2Y2OTI1MWU3MDYyMjEwNjY3MDRjYTNlYWE'],
  [
    'vector C3',
    scope('book', 'slug', ['str']),
    'next',
    ['hello:world'],
    'bmV4dDpzdHI6aGVsbG86d29ybGQ6YmZjNjlmZGViMjQ4Y2RiNmZlNDdiZDFhOTFkNGJlMDg',
  ],
  [
    'vector C4',
    scope('book', '-created_at,-id', ['datetime', 'int']),
    'next',
    ['2026-03-28T15:30:00.123456', '42'],
    'bmV4dDpkYXRldGltZSxpbnQ6MjAyNi0wMy0yOFQxNTozMDowMC4xMjM0NTYsNDI6NTE0ZTA1NGU4YTgzZjRlOGMwMTM2NThhMmUyZDM2ODE',
  ],
  [
    'vector C5',
    scope('book', 'price,title,-id', ['decimal', 'str', 'int']),
    'next',
    ['12.50', '50%, or: more', '9223372036854775807'],
    'bmV4dDpkZWNpbWFsLHN0cixpbnQ6MTIuNTAsNTAlMjUlMkMgb3I6IG1vcmUsOTIyMzM3MjAzNjg1NDc3NTgwNzo5MzNlNjFmMDZlYzhmOGQ4MDMxMDdiMjA4ZDAwNjQyNA',
  ],
  [
    'vector C6',
    scope('book', '-published_on,-id', ['date?', 'int']),
    'prev',
    [null, '7'],
    'cHJldjpudWxsLGludDosNzo3MWRhYmQyNDQ5ZTE3M2U3MTJkMWM2MTIwZTQ5OGYwOQ',
  ],
  [
    'vector C7',
    scope('book', '-id', ['int'], frameText(['status', 'open', 'tag', 'b', 'tag', 'a'])),
    'next',
    ['42'],
    'bmV4dDppbnQ6NDI6YzM0NTdiNWI1MDJkMTdkNjhkNmE0YjQ3NTY2ZWNlNjA',
  ],
  [
    'vector C8',
    scope('review', 'id', ['uuid'], frameText(['{book_id}', '7'])),
    'next',
    ['12345678-1234-5678-1234-567812345678'],
    'bmV4dDp1dWlkOjEyMzQ1Njc4LTEyMzQtNTY3OC0xMjM0LTU2NzgxMjM0NTY3ODphYzBhMjg4MGU2YzM0YWE5YzdmZjBkYTcxOGIwZGIwMw',
  ],
  [
    'vector C9',
    scope('book', 'in_stock,weight,id', ['bool', 'float', 'int']),
    'next',
    ['true', '1.5', '3'],
    'bmV4dDpib29sLGZsb2F0LGludDp0cnVlLDEuNSwzOmUzNjMxYWE0ZjMzNjk0OTY5MjQzOTA3YTQzYjBkNTJl',
  ],
  [
    'vector C10',
    scope('account', '-id', ['int'], none, true),
    'next',
    ['42'],
    'bmV4dDpzZWFsZWQ6OHNqN1RxZ29nTzBGSnE3TmJUSlBvR3lFZzZvS3NyMzBGR3FGWnl1YjAtZ1hySXItcG51ZVh5TkJCUkFZQnNPXzc3RXczcEpUV0VYNHJoLXM6NjU3Mjk5YjMwYWFhZjZlMzdhYjY4MDcxOWVkYWFkZmQ',
  ],
]

describe('a cursor token', () => {
  it.each(vectors)('%s is written and read', (_name, of, direction, position, token) => {
    expect(writeCursor(of, { direction, position })).toBe(token)
    expect(readCursor(of, token)).toEqual({ direction, position })
  })

  it('[D8] vector C10 has the same length for the largest number, and shows none', () => {
    const of = scope('account', '-id', ['int'], none, true)
    const largest = writeCursor(of, { direction: 'next', position: ['9223372036854775807'] })
    expect(largest).toHaveLength(167)
    expect(Buffer.from(largest ?? '', 'base64url').toString()).toMatch(/^next:sealed:[\w-]+:[0-9a-f]{32}$/)
    expect(writeCursor(of, { direction: 'next', position: ['42'] })).toHaveLength(167)
  })

  it.each([
    ['another view', { ...book, view: 'author' }, C1],
    ['another ordering', { ...book, ordering: 'id' }, C1],
    ['a filter', { ...book, filters: frameText(['status', 'open']) }, C1],
    ['another secret', { ...book, secret: 'another-secret-of-32-characters!' }, C1],
    ['padding', book, `${C1}=`],
    ['unused bits that are set', book, C1.replace(/Y$/, 'Z')],
    ['four characters less', book, C1.slice(0, -4)],
    ['nothing', book, ''],
    ['no parameter', book, undefined],
    ['10 kB', book, 'A'.repeat(10_240)],
    ['10 kB behind the token', book, C1 + 'A'.repeat(10_240)],
    ['bytes that are no UTF-8', book, encodeBase64Url(Uint8Array.of(0xff, 0xfe, 0x3a))],
    ['a view that seals', { ...book, sealed: true }, C1],
  ])('[D6 D7 D11] is no cursor with %s', (_name, of, token) => {
    expect(readCursor(of, token)).toBeNull()
  })

  it('[D6] is no cursor after any of the 3,717 changes of one character', () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    let changes = 0
    for (let index = 0; index < C1.length; index++) {
      for (const other of alphabet) {
        if (other === C1[index]) continue
        changes++
        expect(readCursor(book, C1.slice(0, index) + other + C1.slice(index + 1))).toBeNull()
      }
    }
    expect(changes).toBe(3717)
  })

  it('[D6] is no cursor where bytes that are no UTF-8 stand for the character that others show in their place', () => {
    const of = scope('book', 'slug', ['str'])
    const token = writeCursor(of, { direction: 'next', position: ['\ufffd'] }) as string
    const changed = Buffer.from(token, 'base64url').toString('hex').replace('efbfbd', 'ff')
    expect(readCursor(of, encodeBase64Url(Buffer.from(changed, 'hex')))).toBeNull()
  })

  it.each([
    ['a direction', 'back:int:42'],
    ['another tag', 'next:str:42'],
    ['a tag too many', 'next:int,int:42,7'],
    ['a part too many', 'next:int:42,7'],
    ['no part', 'next:int:'],
    ['NULL where there is none', 'next:null:'],
    ['a part that is no number', 'next:int:4x'],
    ['an escape that is none', 'next:int:%34'],
    ['no value', 'next:int'],
  ])('is no cursor with %s, signed or not', (_name, payload) => {
    const signature = mac(S, 'cursor/mac/v1', ['book', '-id', none, payload], 16).toString('hex')
    expect(readCursor(book, encodeBase64Url(`${payload}:${signature}`))).toBeNull()
  })

  it('[D12] is no cursor when signed for another purpose', () => {
    const signature = mac(S, 'server-cursor/mac/v1', ['book', '-id', none, 'next:int:42'], 16).toString('hex')
    expect(readCursor(book, encodeBase64Url(`next:int:42:${signature}`))).toBeNull()
  })

  it('reads what it writes, sealed or not, for any text', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 200 }).filter((value) => !value.includes('\0'))
    const position = fc.tuple(fc.option(text), text, fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String))
    fc.assert(
      fc.property(
        position,
        fc.constantFrom('next' as const, 'prev' as const),
        fc.boolean(),
        (values, direction, sealed) => {
          const of = scope('book', 'a,b,id', ['str?', 'str', 'int'], none, sealed)
          const token = writeCursor(of, { direction, position: values })
          expect(token).not.toBeNull()
          expect(readCursor(of, token ?? '')).toEqual({ direction, position: values })
        },
      ),
    )
  })

  it('tells an empty text from NULL', () => {
    const of = scope('book', 'a', ['str?'])
    const empty = writeCursor(of, { direction: 'next', position: [''] }) ?? ''
    const missing = writeCursor(of, { direction: 'next', position: [null] }) ?? ''
    expect([readCursor(of, empty)?.position, readCursor(of, missing)?.position]).toEqual([[''], [null]])
  })

  it('remembers no token for another position or direction', () => {
    const values = [null, '', 'null', 'null:', 'str:', 'next', 'prev', ',']
    for (const tags of [['str?'], ['str?', 'str?']]) {
      const of = scope('book', 'a', tags)
      const tokens = new CursorTokens(of)
      const second = tags.length === 1 ? [[]] : values.map((value) => [value])
      const positions = values.flatMap((value) => second.map((rest) => [value, ...rest]))
      const cursors = positions.flatMap((position) => [
        { direction: 'next' as const, position },
        { direction: 'prev' as const, position },
      ])
      for (const cursor of [...cursors, ...cursors.toReversed()]) {
        const token = tokens.write(cursor)
        expect(token).toBe(writeCursor(of, cursor))
        expect(tokens.read(token ?? '')).toEqual(cursor)
      }
    }
  })

  it('is not written over 4,096 characters', () => {
    const of = scope('book', 'title', ['str'])
    const longest = 'x'.repeat(3072 - 'next:str::'.length - 32)
    expect(writeCursor(of, { direction: 'next', position: [longest] })).toHaveLength(4096)
    expect(writeCursor(of, { direction: 'next', position: [`${longest}x`] })).toBeNull()
  })
})
