/** A client that reads a whole export page by page, and starts again where the process with its cursor has gone. */
import { setTimeout as sleep } from 'node:timers/promises'

interface Page<Item> {
  cursor_id: string | null
  results: Item[]
  exhausted: boolean
}

/**
 * All items of an export, as they were when its last start opened the cursor.
 * @example const cities = await readExport<City>('https://api.example.com/api/v1/city-export')
 */
export async function readExport<Item>(url: string, { restarts = 3 } = {}): Promise<Item[]> {
  let items: Item[] = []
  for (let cursor: string | null = null; ; ) {
    const target = new URL(url)
    if (cursor !== null) target.searchParams.set('server_cursor', cursor)
    const response = await fetch(target)
    if (response.status === 404 && cursor !== null && restarts-- > 0) {
      items = []
      cursor = null
    } else if ([409, 429, 503].includes(response.status) && restarts-- > 0) {
      await sleep(Number(response.headers.get('Retry-After') ?? 1) * 1000)
    } else if (response.ok) {
      const page = (await response.json()) as Page<Item>
      items.push(...page.results)
      if (page.exhausted) return items
      cursor = page.cursor_id
    } else {
      throw new Error(`${response.status} ${await response.text()}`)
    }
  }
}
