/** Programs that some runs use where the machine has them. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The path of a program, or undefined where it is not installed. */
export function findProgram(name: string): string | undefined {
  // servers are often where only root looks
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path))
}

/** Runs a program for so many milliseconds at most, and returns what it has printed. */
export async function run(program: string, args: readonly string[], milliseconds: number) {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += String(data)))
  const timer = setTimeout(() => child.kill('SIGKILL'), milliseconds)
  const [code] = (await once(child, 'close')) as [number | null]
  clearTimeout(timer)
  return { output, isOver: code !== null }
}
