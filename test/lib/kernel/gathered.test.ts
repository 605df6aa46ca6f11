/** Work that is done together. */
import { expect, it } from 'vitest'
import { Gathered } from '../../../lib/kernel/gathered.js'

it('is done with all that has come meanwhile, one after the other', async () => {
  const done: number[][] = []
  let running = 0
  const gathered = new Gathered<number>(async (items) => {
    expect(++running).toBe(1)
    done.push([...items])
    await new Promise((resolve) => setTimeout(resolve, 5))
    running--
  })
  const first = [1, 2].map((item) => gathered.add(item))
  await Promise.resolve()
  const second = [3, 4, 5].map((item) => gathered.add(item))
  await Promise.all(first)
  const third = gathered.add(6)
  await Promise.all([...second, third])
  expect(done).toEqual([[1, 2], [3, 4, 5], [6]])
})

it('fails for those of one batch, and goes on', async () => {
  const gathered = new Gathered<string>(async (items) => {
    if (items.includes('bad')) throw new Error(items.join())
  })
  const settled = await Promise.allSettled(['good', 'bad'].map((item) => gathered.add(item)))
  expect(settled.map((one) => one.status === 'rejected' && one.reason.message)).toEqual(['good,bad', 'good,bad'])
  await expect(gathered.add('next')).resolves.toBeUndefined()
})
