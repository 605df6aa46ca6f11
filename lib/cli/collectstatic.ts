/** `koa-viewsets collectstatic`. */
import { collectStatic } from '../assets/collect-static.js'
import { setting } from '../kernel/settings.js'
import { type Command, givenNames, givenText, type Output, UsageError } from './command.js'

/** Progress is shown so often at most, in milliseconds. */
const PROGRESS_MILLISECONDS = 50

export const collectstatic: Command = {
  summary: 'collect static files under hashed names, with a manifest',
  help: [
    ['--static-dirs <folders>', 'folders of sources, separated by commas; or the option several times'],
    ['--static-root <folder>', 'the folder to fill (STATIC_ROOT, else staticfiles)'],
  ],
  options: { 'static-dirs': { type: 'string', multiple: true }, 'static-root': { type: 'string' } },
  async run(values, { stdout, stderr }) {
    const staticDirs = givenNames(values, 'static-dirs')
    if (!staticDirs) throw new UsageError('--static-dirs is missing')
    const staticRoot = givenText(values, 'static-root') ?? setting('staticRoot') ?? 'staticfiles'
    const progress = showProgress(stderr)
    try {
      const { manifest, written, unchanged } = await collectStatic({
        staticDirs,
        staticRoot,
        onProgress: progress.show,
      })
      progress.clear()
      stdout.write(
        `${manifest.paths.size} files collected into ${staticRoot}: ${written} written, ${unchanged} unchanged. ` +
          `Version ${manifest.hash}\n`,
      )
    } finally {
      progress.clear()
    }
  },
}

/** A line that is written over and over, on a terminal only. */
function showProgress(output: Output) {
  let last = 0
  let shown = false
  return {
    show: ({ done, total }: { readonly done: number; readonly total: number }) => {
      const now = performance.now()
      if (!output.isTTY || (now - last < PROGRESS_MILLISECONDS && done < total)) return
      last = now
      shown = true
      output.write(`\r${done} of ${total} files`)
    },
    clear: () => {
      if (shown) output.write('\r\u001B[K')
      shown = false
    },
  }
}
