/** Programs that an example starts and ends, none of which outlives it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** What to start. */
export interface ProgramStart {
  readonly command: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Is given each line that it prints, to whichever stream. */
  readonly onLine: (line: string) => void
}

/** A running program. */
export interface RunningProgram {
  readonly pid: number
  /** Its exit code, null where a signal has ended it. */
  readonly ended: Promise<number | null>
  isRunning(): boolean
  signal(signal: NodeJS.Signals): void
  /** Sends a signal, waits for the end, and kills it where that takes too long. */
  stop(signal: NodeJS.Signals): Promise<void>
}

/** How long a program may take to stop before it is killed. */
const STOP_MILLISECONDS = 10_000

/** The path of a program, or undefined where it is not installed. */
export function findProgram(name: string): string | undefined {
  // servers are often where only root looks
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path))
}

/** Waits until we die in whatever way, then ends the programs whose process groups name the files here, and removes the folder. */
const WATCHER_SCRIPT = `
  trap '' HUP INT TERM
  while read -r _; do :; done
  end() { for file in "$1"/*; do [ -e "$file" ] && kill -s "$2" -- "-$\{file##*/}"; done; }
  if [ -n "$(ls "$1")" ]; then
    end "$1" TERM
    sleep 1
    end "$1" KILL
  fi
  rm -rf -- "$2" || { sleep 1; rm -rf -- "$2"; }
`

/** Starts programs that end with this process, however that ends. */
export class Programs {
  readonly #running: string
  readonly #watcher: ChildProcess

  private constructor(running: string, watcher: ChildProcess) {
    this.#running = running
    this.#watcher = watcher
  }

  /** @param folder is removed with all that it holds, by `end()` or when this process dies */
  static in(folder: string): Programs {
    const running = join(folder, 'running')
    mkdirSync(running)
    const watcher = spawn('/bin/sh', ['-c', WATCHER_SCRIPT, 'sh', running, folder], {
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    watcher.unref()
    return new Programs(running, watcher)
  }

  async start({ command, args, env, onLine }: ProgramStart): Promise<RunningProgram> {
    const child = spawn(command, args, {
      env: { ...process.env, ...env },
      // a process group of its own: Ctrl-C at the terminal is for us, who stop one after the other
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const { pid } = child
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
    if (pid === undefined) throw (await once(child, 'error'))[0]
    const mark = join(this.#running, String(pid))
    writeFileSync(mark, '')
    child.once('exit', () => rmSync(mark, { force: true }))
    for (const stream of [child.stdout, child.stderr]) readLines(stream, onLine)
    const isRunning = () => child.exitCode === null && child.signalCode === null
    return {
      pid,
      ended,
      isRunning,
      signal: (signal) => void child.kill(signal),
      async stop(signal) {
        child.kill(signal)
        const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MILLISECONDS)
        await ended
        clearTimeout(timer)
      },
    }
  }

  /** Removes the folder. The programs have been stopped. */
  async end(): Promise<void> {
    const closed = once(this.#watcher, 'close')
    this.#watcher.ref()
    this.#watcher.stdin?.end()
    await closed
  }
}

function readLines(stream: NodeJS.ReadableStream, onLine: (line: string) => void): void {
  let rest = ''
  stream.on('data', (data) => {
    const lines = (rest + String(data)).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) onLine(line)
  })
}
