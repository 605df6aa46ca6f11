import { describe, expect, it, vi } from 'vitest'
import { firstTime, oncePer, oncePerUntilFailed } from '../../../lib/kernel/once-per.js'

describe('oncePer', () => {
  it('makes one value for each key', () => {
    const make = vi.fn<(key: { n: number }) => number[]>(({ n }) => [n])
    const listOf = oncePer(make)
    const [one, two] = [{ n: 1 }, { n: 2 }]
    expect(listOf(one)).toEqual([1])
    expect(listOf(two)).toEqual([2])
    expect(listOf(one)).toBe(listOf(one))
    expect(make).toHaveBeenCalledTimes(2)
  })

  it.each([[undefined], [null], [false], [0], ['']])('keeps %j', (value) => {
    const make = vi.fn<() => unknown>(() => value)
    const madeOf = oncePer(make)
    const key = {}
    expect([madeOf(key), madeOf(key)]).toEqual([value, value])
    expect(make).toHaveBeenCalledTimes(1)
  })

  it('makes again what was thrown', () => {
    const make = vi.fn<() => string>(() => 'made')
    make.mockImplementationOnce(() => {
      throw new Error('not yet')
    })
    const madeOf = oncePer(make)
    const key = {}
    expect(() => madeOf(key)).toThrow('not yet')
    expect(madeOf(key)).toBe('made')
    expect(madeOf(key)).toBe('made')
    expect(make).toHaveBeenCalledTimes(2)
  })

  it('makes what needs the same of another key', () => {
    interface Link {
      readonly next?: Link
    }
    const depthOf: (link: Link) => number = oncePer(({ next }) => (next ? depthOf(next) + 1 : 0))
    expect(depthOf({ next: { next: {} } })).toBe(2)
  })
})

describe('oncePerUntilFailed', () => {
  it('makes one promise for all who ask, and keeps it once it is fulfilled', async () => {
    const make = vi.fn<() => Promise<object>>(async () => ({}))
    const promiseOf = oncePerUntilFailed(make)
    const key = {}
    const first = promiseOf(key)
    expect(promiseOf(key)).toBe(first)
    expect(await promiseOf(key)).toBe(await first)
    expect(make).toHaveBeenCalledTimes(1)
  })

  it('fails for all who ask meanwhile, and tries again for the next', async () => {
    const make = vi.fn<() => Promise<string>>(async () => 'made')
    make.mockRejectedValueOnce(new Error('not yet'))
    const promiseOf = oncePerUntilFailed(make)
    const key = {}
    const asked = [promiseOf(key), promiseOf(key)]
    await Promise.all(asked.map((one) => expect(one).rejects.toThrow('not yet')))
    expect(make).toHaveBeenCalledTimes(1)
    expect(await promiseOf(key)).toBe('made')
    expect(make).toHaveBeenCalledTimes(2)
  })

  it('throws what is thrown at once, and keeps nothing', async () => {
    const make = vi.fn<() => Promise<string>>(async () => 'made')
    make.mockImplementationOnce(() => {
      throw new Error('not yet')
    })
    const promiseOf = oncePerUntilFailed(make)
    const key = {}
    expect(() => promiseOf(key)).toThrow('not yet')
    expect(await promiseOf(key)).toBe('made')
  })
})

describe('firstTime', () => {
  it('is true once for each object', () => {
    const isFirst = firstTime()
    const [one, two] = [{}, {}]
    expect([isFirst(one), isFirst(one), isFirst(two), isFirst(one), isFirst(two)]).toEqual([
      true,
      false,
      true,
      false,
      false,
    ])
  })

  it('knows nothing of what others were asked about', () => {
    const key = {}
    expect([firstTime()(key), firstTime()(key)]).toEqual([true, true])
  })
})
