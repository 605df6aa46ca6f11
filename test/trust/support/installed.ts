/** Runs programs that the machine may have. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'

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
