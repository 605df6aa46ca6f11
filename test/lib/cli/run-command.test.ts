import { existsSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { runCommand } from '../../../lib/cli/run-command.js'
import { createFolder, readFiles } from '../../support/files.js'
import { readProjectFile, startFile, startProgram } from '../../support/program.js'

async function run(args: readonly string[], isTTY = false) {
  const written = { stdout: '', stderr: '' }
  const output = (name: keyof typeof written) => ({ isTTY, write: (text: string) => (written[name] += text) })
  const code = await runCommand(args, { stdout: output('stdout'), stderr: output('stderr') })
  return { code, ...written }
}

const site = () => createFolder({ 'css/app.css': 'p{background:url(a.png)}', 'css/a.png': 'x' })
const target = () => join(createFolder(), 'out')

afterEach(() => vi.unstubAllEnvs())

describe('koa-viewsets collectstatic', () => {
  it('collects, and says what it did in one line', async () => {
    const [one, two, root] = [site(), createFolder({ 'b.js': 'y' }), target()]
    const args = ['collectstatic', '--static-dirs', `${one},${two}`, '--static-root', root]
    const first = await run(args)
    expect(first).toEqual({
      code: 0,
      stdout: expect.stringMatching(
        /^3 files collected into \S+\/out: 6 written, 0 unchanged\. Version [0-9a-f]{12}\n$/,
      ),
      stderr: '',
    })
    expect(existsSync(join(root, 'staticfiles.json'))).toBe(true)
    expect((await run(args)).stdout).toContain(': 0 written, 6 unchanged.')
  })

  it('takes the option several times, and STATIC_ROOT', async () => {
    const root = target()
    vi.stubEnv('STATIC_ROOT', root)
    const { code } = await run(['collectstatic', '--static-dirs', site(), `--static-dirs=${createFolder({ c: 'z' })}`])
    expect([code, Object.keys(readFiles(root)).includes('c')]).toEqual([0, true])
  })

  it('shows its progress on a terminal, and wipes it off', async () => {
    const { stderr } = await run(['collectstatic', '--static-dirs', site(), '--static-root', target()], true)
    expect(stderr).toMatch(/^\r1 of 2 files.*\r2 of 2 files\r\u001B\[K$/s)
  })

  it('lists all that is wrong on stderr, a line each, and fails', async () => {
    const folder = createFolder({ 'a.css': '@import "no.css";\np{background:url(no.png)}' })
    symlinkSync('/etc', join(folder, 'etc'))
    const root = target()
    expect(await run(['collectstatic', '--static-dirs', folder, '--static-root', root])).toEqual({
      code: 1,
      stdout: '',
      stderr: [
        `${folder}/etc: links to /etc, outside the folders; copy it, or name its folder as well`,
        `${folder}/a.css:1: "no.css" names no file (no.css)`,
        `${folder}/a.css:2: "no.png" names no file (no.png)`,
        '',
      ]
        .map((line) => (line ? `koa-viewsets collectstatic: ${line}` : ''))
        .join('\n'),
    })
    expect(existsSync(root)).toBe(false)
  })

  it.each([
    [[], '--static-dirs is missing'],
    [['--static-dirs', ''], '--static-dirs has an empty name'],
    [['--static-dirs', 'a,,b'], '--static-dirs has an empty name'],
    [['--static-dirs', 'a', '--static-root', ''], '--static-root is empty'],
    [['--static-dirs'], "Option '--static-dirs <value>' argument missing"],
    [['--static-dir', 'a'], "Unknown option '--static-dir'"],
    [['a', 'b'], "Unexpected argument 'a'"],
  ])('called with %j is a wrong call', async (args, message) => {
    const { code, stdout, stderr } = await run(['collectstatic', ...args])
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr.startsWith(`koa-viewsets collectstatic: ${message}`)).toBe(true)
    expect(stderr).toContain('Usage: koa-viewsets collectstatic [options]\n')
  })
})

describe('koa-viewsets', () => {
  it.each([['--help'], ['-h'], ['help']])('%s lists the commands', async (argument) => {
    const { code, stdout } = await run([argument])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^Usage: koa-viewsets <command> \[options\]\n\n {2}collectstatic {2}collect static files/)
  })

  it('--version says which it is', async () => {
    const { version } = JSON.parse(readProjectFile('package.json'))
    expect(await run(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
  })

  it('collectstatic --help lists the options', async () => {
    const { code, stdout } = await run(['collectstatic', '--help'])
    expect(code).toBe(0)
    expect(stdout).toContain('  --static-dirs <folders>  folders of sources')
  })

  it.each([[[]], [['collect']], [['__proto__']], [['constructor']], [['--verbose']]])(
    'called with %j is a wrong call',
    async (args) => {
      const { code, stdout, stderr } = await run(args)
      expect([code, stdout]).toEqual([2, ''])
      expect(stderr).toContain('Usage: koa-viewsets <command>')
    },
  )

  it('has a reference of all commands and options', async () => {
    const reference = readProjectFile('docs/reference/commands.md')
    const { stdout } = await run(['--help'])
    const commands = [...stdout.matchAll(/^ {2}(\w+) /gm)].map(([, name]) => name as string)
    expect(commands).toEqual(['collectstatic', 'explain', 'init', 'openapi', 'policies', 'types'])
    for (const command of commands) {
      const [, section = ''] = reference.split(new RegExp(`^## ${command}$`, 'm'))
      const [own = ''] = section.split('\n## ')
      const options = (await run([command, '--help'])).stdout.match(/--[\w-]+(?: <\w+>)?/g) ?? []
      expect([command, options.filter((option) => !own.includes(`\`${option}\``))]).toEqual([command, []])
    }
  })

  it('is a program with these exit codes', { timeout: 60_000 }, async () => {
    const root = target()
    const programs = [
      startProgram({
        command: process.execPath,
        args: ['--import', 'tsx', 'lib/cli/main.ts', 'collectstatic', '--static-dirs', site(), '--static-root', root],
        env: {},
      }),
      startFile('lib/cli/main.ts', {}),
    ]
    const codes = await Promise.all(
      programs.map(({ child }) => new Promise((resolve) => child.on('exit', (code) => resolve(code)))),
    )
    expect(codes).toEqual([0, 2])
    expect(existsSync(join(root, 'staticfiles.json'))).toBe(true)
  })
})
