/** What messages say of errors, whatever was thrown. */
import { expect, it } from 'vitest'
import { errorLine, messageOf } from '../../../lib/kernel/quote.js'

class Unreadable extends Error {
  override get message(): string {
    throw new Error('no message')
  }
}

it.each<[string, unknown, message: string, line: string]>([
  ['an error', new TypeError('a\nb'), 'a\nb', 'TypeError: a\\nb'],
  ['a text', 'gone', 'gone', 'gone'],
  ['nothing', undefined, 'undefined', 'undefined'],
  ['an object without a prototype', Object.create(null), 'an error without a text', 'an error without a text'],
  ['an error whose message throws', new Unreadable(), 'an error without a text', 'an error without a text'],
])('of %s', (_what, error, message, line) => {
  expect([messageOf(error), errorLine(error)]).toEqual([message, line])
})
