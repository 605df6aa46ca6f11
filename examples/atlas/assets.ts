/** Collects the home page's files under hashed names, as a deployment does with `koa-viewsets collectstatic`. */
import { join } from 'node:path'
import { collectStatic } from 'koa-viewsets/assets'
import { cacheFolder } from './database.js'
import { PUBLIC_FOLDER } from './page.js'

/** The folder of collected files; undefined where none can be written, and the sources are served as they are. */
export async function collectAssets(): Promise<string | undefined> {
  const staticRoot = join(cacheFolder(), 'koa-viewsets', 'atlas-static')
  try {
    await collectStatic({ staticDirs: [PUBLIC_FOLDER], staticRoot })
    return staticRoot
  } catch (error) {
    console.warn(`The page's files are served as they are: ${error instanceof Error ? error.message : String(error)}`)
    return undefined
  }
}
