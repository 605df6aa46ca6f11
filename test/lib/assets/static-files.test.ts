import { createHash } from 'node:crypto'
import { symlinkSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { refreshAppVersion } from '../../../lib/assets/app-version.js'
import { collectStatic } from '../../../lib/assets/collect-static.js'
import { mountStaticFiles, StaticFiles } from '../../../lib/assets/static-files.js'
import { staticPath, staticUrl, templateHelpers } from '../../../lib/assets/template-helpers.js'
import { ConfigurationError } from '../../../lib/kernel/errors.js'
import { configure } from '../../../lib/kernel/settings.js'
import { createFolder, writeFiles } from '../../support/files.js'

const FILES = { 'js/app.min.js': 'console.log(1)\n', 'img/icons.svg': '<svg/>', 'a b.js': 'x', ['__proto__']: 'x' }
const hashOf = (content: string) => createHash('sha256').update(content).digest('hex').slice(0, 12)

let source: string
let root: string
let warn: ReturnType<typeof vi.spyOn>

beforeEach(async () => {
  for (const name of ['STATIC_ROOT', 'STATIC_URL', 'STATIC_DEV_VERSION_QUERY', 'APP_VERSION'])
    vi.stubEnv(name, undefined)
  warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  source = createFolder(FILES)
  root = join(createFolder(), 'out')
  await collectStatic({ staticDirs: [source], staticRoot: root })
})
afterEach(() => {
  warn.mockRestore()
  vi.unstubAllEnvs()
  configure({})
})

it('finds the files by the settings, until staticAssets() is mounted', () => {
  // first: what is mounted stays
  vi.stubEnv('STATIC_ROOT', root)
  expect(staticPath('js/app.min.js')).toBe('/static/js/app.min.3879a5d930ae.js')
  configure({ staticRoot: source })
  expect(staticUrl('js/app.min.js')).toBe('/static/js/app.min.js?v=3879a5d930ae')
})

describe('with a manifest', () => {
  beforeEach(() => mountStaticFiles(new StaticFiles({ root })))

  it('staticPath and staticUrl give the hashed name', () => {
    expect(staticPath('js/app.min.js')).toBe('/static/js/app.min.3879a5d930ae.js')
    expect(staticUrl('js/app.min.js')).toBe('/static/js/app.min.3879a5d930ae.js')
    expect(staticPath('a b.js')).toBe('/static/a%20b.2d711642b726.js')
    expect(staticPath('img/icons.svg#arrow')).toBe(`/static/img/icons.${hashOf('<svg/>')}.svg#arrow`)
  })

  it('[F17] names of the manifest are own keys', () => {
    expect(staticPath('__proto__')).toBe('/static/__proto__.2d711642b726')
    for (const name of ['constructor', 'toString', 'hasOwnProperty']) expect(staticPath(name)).toBe(`/static/${name}`)
  })

  it('an unknown name stays as it is, and is warned about once', () => {
    expect([staticPath('no.js'), staticPath('no.js')]).toEqual(['/static/no.js', '/static/no.js'])
    expect(warn).toHaveBeenCalledExactlyOnceWith('staticPath("no.js"): the manifest has no such file', {
      code: 'KOA_VIEWSETS_STATIC_FILE',
    })
  })

  it('[I17] an unknown name is on one line of the warning', () => {
    staticPath('a\r\nFAKE\u001b[2J\u0085\u009b31m\u2028b')
    expect(warn).toHaveBeenCalledExactlyOnceWith(
      String.raw`staticPath("a\r\nFAKE\u001b[2J\u0085\u009b31m\u2028b"): the manifest has no such file`,
      expect.anything(),
    )
  })

  it('unknown names that a client makes up are not all kept', () => {
    for (let index = 0; index < 500; index++) staticPath(`made-up-${index}`)
    expect(warn).toHaveBeenCalledTimes(100)
  })

  it('reads the manifest again after a refresh, not before', async () => {
    staticPath('js/app.min.js')
    writeFiles(source, { 'js/app.min.js': 'console.log(2)\n' })
    await collectStatic({ staticDirs: [source], staticRoot: root })
    expect(staticPath('js/app.min.js')).toBe('/static/js/app.min.3879a5d930ae.js')
    refreshAppVersion()
    expect(staticPath('js/app.min.js')).toBe(`/static/js/app.min.${hashOf('console.log(2)\n')}.js`)
  })
})

describe('without a manifest', () => {
  beforeEach(() => mountStaticFiles(new StaticFiles({ root: 'no/such/folder', dirs: [createFolder(), source] })))

  it('staticPath gives the name, staticUrl adds the hash of the content', () => {
    expect(staticPath('js/app.min.js')).toBe('/static/js/app.min.js')
    expect(staticUrl('js/app.min.js')).toBe('/static/js/app.min.js?v=3879a5d930ae')
    expect(staticUrl('img/icons.svg#arrow')).toBe(`/static/img/icons.svg?v=${hashOf('<svg/>')}#arrow`)
    expect(warn).not.toHaveBeenCalled()
  })

  it('the hash is kept until the file is modified', () => {
    const file = join(source, 'js/app.min.js')
    utimesSync(file, 1_000, 1_000)
    expect(staticUrl('js/app.min.js')).toBe('/static/js/app.min.js?v=3879a5d930ae')
    writeFiles(source, { 'js/app.min.js': 'console.log(2)\n' })
    utimesSync(file, 1_000, 1_000)
    expect(staticUrl('js/app.min.js')).toBe('/static/js/app.min.js?v=3879a5d930ae')
    utimesSync(file, 1_001, 1_001)
    expect(staticUrl('js/app.min.js')).toBe(`/static/js/app.min.js?v=${hashOf('console.log(2)\n')}`)
  })

  it('STATIC_DEV_VERSION_QUERY=false adds nothing', () => {
    configure({ staticDevVersionQuery: false })
    expect(staticUrl('js/app.min.js')).toBe('/static/js/app.min.js')
    vi.stubEnv('STATIC_DEV_VERSION_QUERY', 'false')
    configure({})
    expect(staticUrl('js/app.min.js')).toBe('/static/js/app.min.js')
  })

  it('a file that is not there has no hash', () => {
    expect(staticUrl('no.js')).toBe('/static/no.js')
  })
})

describe('[F17] a name that leads out', () => {
  it.each([
    ['../../etc/passwd', '/static/etc/passwd'],
    ['/etc/passwd', '/static/etc/passwd'],
    ['..\\..\\x', '/static/..%5C..%5Cx'],
    ['a/../../b', '/static/a/b'],
    ['', '/static/'],
    ['..', '/static/'],
    ['a\0.js', '/static/a%00.js'],
    ['//evil.test/x.js', '/static/evil.test/x.js'],
    ['https://evil.test/x.js', '/static/https%3A/evil.test/x.js'],
    ['javascript:alert(1)', '/static/javascript%3Aalert%281%29'],
    ['x" onerror="alert(1)', '/static/x%22%20onerror%3D%22alert%281%29'],
    ["x' onerror='1", '/static/x%27%20onerror%3D%271'],
    ['a.js#"><script>', '/static/a.js#%22%3E%3Cscript%3E'],
  ])('%j stays under the prefix, with and without a manifest', (name, url) => {
    for (const files of [new StaticFiles({ root }), new StaticFiles({ root: source })]) {
      mountStaticFiles(files)
      expect([staticPath(name), staticUrl(name)]).toEqual([url, url])
    }
  })

  it('is not read for its hash, through links either', () => {
    const outside = createFolder({ 'secret.txt': 'secret' })
    symlinkSync(join(outside, 'secret.txt'), join(source, 'link.txt'))
    writeFiles(source, { '.env': 'x' })
    mountStaticFiles(new StaticFiles({ root: join(source, 'js'), dirs: [source] }))
    for (const name of ['link.txt', '.env', 'js', '../a b.js']) expect(staticUrl(name)).not.toContain('?v=')
  })
})

describe('where the files are', () => {
  it.each([
    ['/assets/', '/assets/js/app.min.3879a5d930ae.js', '/assets'],
    ['/', '/js/app.min.3879a5d930ae.js', ''],
    ['https://cdn.example.com/x', 'https://cdn.example.com/x/js/app.min.3879a5d930ae.js', '/x'],
    ['https://cdn.example.com', 'https://cdn.example.com/js/app.min.3879a5d930ae.js', ''],
  ])('STATIC_URL %j is what URLs begin with', (url, expected, prefix) => {
    vi.stubEnv('STATIC_URL', url)
    const files = new StaticFiles({ root })
    expect([files.url('js/app.min.js'), files.prefix]).toEqual([expected, prefix])
  })

  it('URLs begin with what a proxy strips, and with STATIC_URL alone where that is set', () => {
    configure({ forwardedPrefix: '/shop' })
    const files = new StaticFiles({ root })
    expect([files.url('js/app.min.js'), files.prefix]).toEqual(['/shop/static/js/app.min.3879a5d930ae.js', '/static'])
    configure({ forwardedPrefix: '/shop', staticUrl: '/files' })
    expect(files.url('js/app.min.js')).toBe('/files/js/app.min.3879a5d930ae.js')
  })

  it('a prefix of its own is kept, and STATIC_URL still counts for URLs', () => {
    const files = new StaticFiles({ root, prefix: '/files' })
    expect(files.url('js/app.min.js')).toBe('/files/js/app.min.3879a5d930ae.js')
    configure({ staticUrl: 'https://cdn.example.com/files' })
    expect([files.url('js/app.min.js'), files.prefix]).toEqual([
      'https://cdn.example.com/files/js/app.min.3879a5d930ae.js',
      '/files',
    ])
  })

  it.each(['static', '//evil.test', '/a b', '/a?b', 'https://x.test/static'])('the prefix %j is refused', (prefix) => {
    expect(() => new StaticFiles({ prefix })).toThrow(ConfigurationError)
  })
})

describe('templateHelpers', () => {
  it('has the names of the specification', () => {
    mountStaticFiles(new StaticFiles({ root }))
    configure({ appVersion: 'v7' })
    const helpers = templateHelpers()
    expect(Object.keys(helpers)).toEqual(['static', 'static_url', 'app_version'])
    const { static: path, static_url: url, app_version: version } = helpers
    expect([path('js/app.min.js'), url('js/app.min.js'), version()]).toEqual([
      '/static/js/app.min.3879a5d930ae.js',
      '/static/js/app.min.3879a5d930ae.js',
      'v7',
    ])
  })
})
