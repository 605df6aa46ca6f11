/** A real Chromium, for what only a browser can show. */
import { accessSync, constants } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { type BrowserContext, chromium } from 'playwright-core'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome']

/** Nothing but our pages: no sandbox for root in a container, no traffic of the browser's own. */
const FLAGS = [
  ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
]

/** The browser that CHROMIUM_PATH names, or the first on the PATH; undefined when there is none. */
export function findChromium(): string | undefined {
  const named = process.env['CHROMIUM_PATH']
  if (named) return named
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  return folders.flatMap((folder) => NAMES.map((name) => join(folder, name))).find(isExecutable)
}

export interface TestBrowser {
  readonly context: BrowserContext
  close(): Promise<void>
}

/** Starts a browser with an empty profile. */
export async function startBrowser(executablePath: string): Promise<TestBrowser> {
  const profile = await mkdtemp(join(tmpdir(), 'kv-chromium-'))
  const context = await chromium.launchPersistentContext(profile, { executablePath, headless: true, args: FLAGS })
  return {
    context,
    async close() {
      await context.close()
      // the browser's last process may still write to its profile
      await rm(profile, { recursive: true, force: true, maxRetries: 10 })
    },
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
