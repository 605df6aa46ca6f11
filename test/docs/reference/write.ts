/** `npm run docs:reference`: writes the pages of docs/reference/api. */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { FOLDER, referencePages } from './pages.js'

const pages = referencePages()
mkdirSync(FOLDER, { recursive: true })
for (const name of readdirSync(FOLDER)) if (!pages.has(`${FOLDER}/${name}`)) rmSync(join(FOLDER, name))
for (const [path, text] of pages) writeFileSync(path, text)
