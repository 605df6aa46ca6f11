import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BoundedMap } from '../../../lib/throttling/bounded-map.js'

interface Entry {
  end: number
}

/** The same, said the slow way. */
class Model {
  entries: { key: string; end: number }[] = []
  readonly most: number
  constructor(most: number) {
    this.most = most
  }
  add(key: string, end: number, now: number): void {
    this.delete(key)
    for (let turn = 0; turn < 2; turn += 1) {
      const [oldest] = this.entries
      if (oldest && (this.entries.length >= this.most || now >= oldest.end)) this.entries.shift()
    }
    this.entries.push({ key, end })
  }
  delete(key: string): void {
    this.entries = this.entries.filter((entry) => entry.key !== key)
  }
}

describe('BoundedMap', () => {
  it('[H7] holds what a list of the same rules holds, whatever is added and deleted', () => {
    const keys = [...'abcdefgh']
    const step = fc.record({
      key: fc.constantFrom(...keys),
      length: fc.integer({ min: 1, max: 9 }),
      pass: fc.integer({ min: 0, max: 4 }),
      isDeletion: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), fc.array(step, { maxLength: 60 }), (most, steps) => {
        const map = new BoundedMap<Entry>(
          most,
          () => ({ end: 0 }),
          ({ end }, at) => at >= end,
        )
        const model = new Model(most)
        let now = 0
        for (const { key, length, pass, isDeletion } of steps) {
          now += pass
          if (isDeletion) {
            map.delete(key)
            model.delete(key)
          } else {
            map.add(key, now).end = now + length
            model.add(key, now + length, now)
          }
          expect(map.size).toBe(model.entries.length)
          expect(map.size).toBeLessThanOrEqual(most)
          for (const one of keys) expect(map.get(one)?.end).toBe(model.entries.find((entry) => entry.key === one)?.end)
        }
      }),
    )
  })

  it('finds every entry, however many come and go', () => {
    const most = 5_000
    const map = new BoundedMap<Entry>(
      most,
      () => ({ end: 0 }),
      () => false,
    )
    const nameOf = (n: number) => `caller ${n} of many`
    for (let n = 0; n < 3 * most; n++) {
      map.add(nameOf(n), 0).end = n
      if (n % 3 === 0) map.delete(nameOf(n))
    }
    const kept = Array.from({ length: 3 * most }, (_, n) => n).filter((n) => map.get(nameOf(n)))
    const expected = Array.from({ length: 3 * most }, (_, n) => n).filter((n) => n % 3 !== 0)
    expect(kept).toEqual(expected.slice(-most))
    expect(kept.every((n) => map.get(nameOf(n))?.end === n)).toBe(true)
    expect(map.size).toBe(most)
  })
})
