/** The figures of the last run in `figures.json`, so that those of docs/explanation/figures.md can be traced. */
import { readFile, writeFile } from 'node:fs/promises'
import { availableParallelism, cpus } from 'node:os'
import { fileURLToPath } from 'node:url'

/** Where and when a part was measured, and what came out. */
export interface PartFigures {
  readonly when: string
  readonly node: string
  readonly cpu: string
  readonly figures: unknown
}

const FILE = new URL('figures.json', import.meta.url)

/** Keeps the figures of one part; those of the others stay. */
export async function keepFigures(part: string, figures: unknown): Promise<void> {
  await writeFigures(FILE, { ...(await readFigures()), [part]: measured(figures) })
}

/** Keeps the figures of a part that has a file of its own, and returns them as they stand there: rounded. */
export async function keepOwnFigures<Figures>(name: string, figures: Figures): Promise<Figures> {
  await writeFigures(new URL(name, import.meta.url), measured(figures))
  return (await readOwnFigures(name)) as Figures
}

/** The figures of a part that has a file of its own. */
export async function readOwnFigures(name: string): Promise<unknown> {
  const text = await readFile(new URL(name, import.meta.url), 'utf8')
  return (JSON.parse(text) as PartFigures).figures
}

function measured(figures: unknown): PartFigures {
  return {
    when: new Date().toISOString(),
    node: process.version,
    cpu: `${availableParallelism()} × ${cpus()[0]?.model.trim() ?? process.arch}`,
    figures,
  }
}

async function writeFigures(file: URL, figures: unknown): Promise<void> {
  await writeFile(file, `${JSON.stringify(figures, roundNumbers, 2)}\n`)
}

/** Writes a picture beside the figures, and returns its path. */
export async function keepPicture(name: string, svg: string): Promise<string> {
  const path = fileURLToPath(new URL(name, import.meta.url))
  await writeFile(path, svg)
  return path
}

async function readFigures(): Promise<Record<string, PartFigures>> {
  const text = await readFile(FILE, 'utf8').catch(() => '{}')
  return JSON.parse(text) as Record<string, PartFigures>
}

/** More digits than these are noise. */
function roundNumbers(_key: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(4)) : value
}
