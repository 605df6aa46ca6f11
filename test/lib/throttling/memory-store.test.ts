import { describe, expect, it } from 'vitest'
import { MemoryStore } from '../../../lib/throttling/memory-store.js'
import { startProgram } from '../../support/program.js'

const MINUTE = { limit: 2, seconds: 60 }

function begin(maxKeys = 3) {
  let now = 0.25
  const store = new MemoryStore({ maxKeys, now: () => now })
  return {
    store,
    consume: (key: string, budget = 'budget') => store.limiter(budget, MINUTE).consume(key),
    pass(milliseconds: number) {
      now += milliseconds
    },
  }
}

describe('MemoryStore', () => {
  it('[H7] forgets the caller whose window began first when there is no room', () => {
    const { store, consume, pass } = begin()
    for (const key of ['a', 'b', 'c']) {
      consume(key)
      pass(1000)
    }
    expect(consume('a').used).toBe(2)
    expect(consume('d').used).toBe(1)
    expect(store.size).toBe(3)
    expect([consume('b').used, consume('c').used]).toEqual([2, 2])
    expect(consume('a').used).toBe(1)
    expect(store.size).toBe(3)
  })

  it('[H7] keeps 50,000 callers of each budget', () => {
    const store = new MemoryStore({ now: () => 0 })
    for (let index = 0; index < 120_000; index += 1) store.limiter('one', MINUTE).consume(String(index))
    store.limiter('other', MINUTE).consume('a')
    expect(store.size).toBe(50_001)
    store.clear()
    expect(store.size).toBe(0)
  })

  it('forgets what is over as new windows begin', () => {
    const { store, consume, pass } = begin(1000)
    for (let index = 0; index < 100; index += 1) consume(String(index))
    pass(60_000)
    for (let index = 0; index < 50; index += 1) consume(`new ${index}`)
    expect(store.size).toBe(50)
  })

  it('counts a window that began anew as the last to begin', () => {
    const { consume, pass } = begin()
    consume('a')
    pass(30_000)
    consume('b')
    pass(30_000)
    expect(consume('a').used).toBe(1)
    for (const key of ['c', 'd']) consume(key)
    expect(consume('a').used).toBe(2)
    expect(consume('b').used).toBe(1)
  })

  it('[H4] ends a window to the millisecond, whatever the fraction of the clock', () => {
    const { consume, pass } = begin()
    expect(consume('a')).toEqual({ used: 1, wait: 60_000 })
    pass(59_999)
    expect(consume('a')).toEqual({ used: 2, wait: 1 })
    pass(0.5)
    expect(consume('a')).toEqual({ used: 3, wait: 1 })
    pass(0.5)
    expect(consume('a')).toEqual({ used: 1, wait: 60_000 })
  })

  it('has a clock that nobody can set back, and no timer', async () => {
    expect(await run(CLOCK)).toBe('[1,2,3]\n')
  })

  it('[H7] takes at most 60 MB for a million callers', async () => {
    expect(Number(await run(MILLION))).toBeLessThanOrEqual(60)
  }, 60_000)
})

/** What a program of its own prints. */
async function run(source: string): Promise<string> {
  const program = startProgram({
    command: process.execPath,
    args: ['--expose-gc', '--import', 'tsx', '--input-type=module', '--eval', source],
    env: {},
  })
  await new Promise((resolve) => program.child.once('close', resolve))
  return program.output()
}

/** Ends by itself, though it has counted for a day. */
const CLOCK = `
  import { MemoryStore } from './lib/throttling/memory-store.ts'
  const limiter = new MemoryStore().limiter('budget', { limit: 2, seconds: 86400 })
  const used = [0, -3600000, 3600000].map((step) => {
    const now = Date.now
    Date.now = () => now() + step
    return limiter.consume('a').used
  })
  console.log(JSON.stringify(used))
`

/** Prints the most megabytes that it held, garbage that was not yet collected left out. */
const MILLION = `
  import { MemoryStore } from './lib/throttling/memory-store.ts'
  const limiter = new MemoryStore().limiter('budget', { limit: 100, seconds: 3600 })
  gc()
  const before = process.memoryUsage().rss
  let most = 0
  for (let index = 1; index <= 1_000_000; index += 1) {
    limiter.consume('throttle:4:anon,8:100/3600,2:ip,11:' + index + ',')
    if (index % 100_000 === 0) {
      gc()
      most = Math.max(most, process.memoryUsage().rss - before)
    }
  }
  console.log(most / 1e6)
`
