/**
 * Serves the page beside the atlas that `npm start` has started, or the one at ATLAS_URL: what it asks below `/api/` goes there.
 * `/api.ts` is a file of the page.
 */
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  // an application has the package in node_modules
  resolve: {
    alias: { 'koa-viewsets/client': fileURLToPath(new URL('../../lib/client/index.ts', import.meta.url)) },
  },
  esbuild: { jsx: 'automatic' },
  server: { host: '127.0.0.1', proxy: { '^/api/': process.env['ATLAS_URL'] ?? 'http://127.0.0.1:3000' } },
})
