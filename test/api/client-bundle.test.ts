/** What of the package the typed client brings to a browser. */
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { expect, it } from 'vitest'

it('is small, loads what reads changes when it is asked for them, and holds nothing of the server', async () => {
  const { outputFiles, metafile } = await build({
    stdin: {
      contents: `export { createClient, ClientError } from './lib/client/index.js'`,
      resolveDir: process.cwd(),
      loader: 'ts',
    },
    bundle: true,
    splitting: true,
    outdir: 'out',
    minify: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    metafile: true,
    logLevel: 'silent',
  })
  const inputs = Object.keys(metafile.inputs).filter((file) => file !== '<stdin>')
  expect(inputs).toContain('lib/client/index.ts')
  expect(inputs.filter((file) => !file.startsWith('lib/client/'))).toEqual([])
  const [client, changes, ...others] = outputFiles
  expect(others).toEqual([])
  // an import of koa, pg or objection would have been left in the text, or been an error
  expect(client?.text.match(/\b(import\b.{0,11}|require\b)/g)).toEqual(['import("./changes'])
  expect(changes?.text).not.toMatch(/\bimport\b|\brequire\b/)
  expect(gzipSync(client?.contents ?? '').length).toBeLessThan(3_000)
  expect(gzipSync(changes?.contents ?? '').length).toBeLessThan(1_250)
})
