import { describe, expect, it } from 'vitest'
import { RepeatedErrors } from '../../../lib/kernel/repeated-errors.js'

describe('errors of work that is tried again', () => {
  it('are told once until the work is done, or fails by another one', async () => {
    const told: unknown[] = []
    const errors = new RepeatedErrors((error) => told.push(String(error)))
    const failing = (text: string) => () => Promise.reject(new Error(text))
    for (const text of ['a', 'a', 'b', 'b']) expect(await errors.tried('read', failing(text))).toBeUndefined()
    expect(told).toEqual(['Error: a', 'Error: b'])
    expect(await errors.tried('send', failing('b'))).toBeUndefined()
    expect(await errors.tried('read', async () => 7)).toBe(7)
    await errors.tried('read', failing('b'))
    await errors.tried('send', failing('b'))
    expect(told.slice(2)).toEqual(['Error: b', 'Error: b'])
  })
})
