import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { describeAppVersion, getAppVersion, refreshAppVersion } from '../../../lib/assets/app-version.js'
import { mountStaticFiles, StaticFiles } from '../../../lib/assets/static-files.js'
import { clearVersionComponents, registerVersionComponent } from '../../../lib/assets/version-components.js'
import { ConfigurationError } from '../../../lib/kernel/errors.js'
import { configure } from '../../../lib/kernel/settings.js'
import { createFolder, writeFiles } from '../../support/files.js'

const MANIFEST = '{"version":"1.1","paths":{},"hash":"07dad15b2f7f"}'

let folder: string
let warn: ReturnType<typeof vi.spyOn>

beforeEach(() => {
  vi.stubEnv('APP_VERSION', undefined)
  warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  folder = createFolder({ hello: 'hello', world: 'world' })
  mountStaticFiles(new StaticFiles({ root: folder }))
})
afterEach(() => {
  warn.mockRestore()
  vi.unstubAllEnvs()
  clearVersionComponents()
  configure({})
})

const files = (...names: string[]) => names.map((name) => join(folder, name))

describe('the version', () => {
  it('is unknown where nothing tells it', () => {
    expect(describeAppVersion()).toEqual({ version: 'unknown', source: 'unknown', components: {} })
  })

  it.each([
    [['hello', 'world'], '99da023872c1'],
    [['world', 'hello'], '99da023872c1'],
    [['world', 'hello', 'world'], '99da023872c1'],
  ])('is computed from the component templates with %j', (names, version) => {
    registerVersionComponent('templates', files(...names))
    expect(describeAppVersion()).toEqual({ version, source: 'computed', components: { templates: 2 } })
  })

  it('is computed over components in the order of their names', () => {
    registerVersionComponent('templates', files('world'))
    registerVersionComponent('a', files('hello'))
    expect(describeAppVersion()).toEqual({
      version: '596dd2a44788',
      source: 'computed',
      components: { a: 1, templates: 1 },
    })
  })

  it("is the manifest's hash, and one over both where there are components", () => {
    writeFiles(folder, { 'staticfiles.json': MANIFEST })
    expect(describeAppVersion()).toEqual({ version: '07dad15b2f7f', source: 'manifest', components: {} })
    registerVersionComponent('templates', files('hello', 'world'))
    expect(describeAppVersion()).toEqual({ version: '71a1794a68f2', source: 'manifest', components: { templates: 2 } })
  })

  it('is what is set, before everything', () => {
    writeFiles(folder, { 'staticfiles.json': MANIFEST })
    registerVersionComponent('templates', files('hello', 'world'))
    vi.stubEnv('APP_VERSION', 'v7')
    refreshAppVersion()
    expect(describeAppVersion()).toEqual({ version: 'v7', source: 'explicit', components: { templates: 2 } })
    configure({ appVersion: 'of-the-code' })
    expect(getAppVersion()).toBe('of-the-code')
    configure({ appVersion: '' })
    expect(getAppVersion()).toBe('71a1794a68f2')
  })

  it('stays until it is refreshed', () => {
    registerVersionComponent('templates', files('hello', 'world'))
    const before = getAppVersion()
    writeFiles(folder, { hello: 'changed' })
    expect(getAppVersion()).toBe(before)
    const after = refreshAppVersion()
    expect(after).not.toBe(before)
    expect(getAppVersion()).toBe(after)
  })

  it('[F17] comes from no manifest that is broken', () => {
    writeFiles(folder, { 'staticfiles.json': '{"paths":{"a":"../a"},"hash":"07dad15b2f7f"}' })
    expect(refreshAppVersion()).toBe('unknown')
    expect(getAppVersion()).toBe('unknown')
    expect(warn).toHaveBeenCalledOnce()
  })
})

describe('[G4] APP_VERSION', () => {
  it.each(['v\r\nX: y', 'a b', 'é', 'a\u0001', '\t', ' ', 'a'.repeat(129), '\u{1f600}'])('%j is refused', (version) => {
    vi.stubEnv('APP_VERSION', version)
    expect(() => refreshAppVersion()).toThrow(ConfigurationError)
    expect(() => refreshAppVersion()).toThrow(/^APP_VERSION is "[^\n]{0,70}: give 1 to 128 characters from ! to ~/)
    expect(() => configure({ appVersion: version })).toThrow(ConfigurationError)
  })

  it.each(['!', '~', 'v1.2.3+build', 'a'.repeat(128), '</script><script>alert(1)//'])('%j is taken', (version) => {
    vi.stubEnv('APP_VERSION', version)
    expect(refreshAppVersion()).toBe(version)
  })
})

describe('registerVersionComponent', () => {
  it('leaves out what is missing, with a warning, and has no version without any file', () => {
    registerVersionComponent('templates', files('hello', 'world', 'missing'))
    expect(describeAppVersion()).toMatchObject({ version: '99da023872c1', components: { templates: 2 } })
    expect(warn).toHaveBeenCalledExactlyOnceWith(
      `The version component "templates" is without ${folder}/missing: it does not exist`,
      { code: 'KOA_VIEWSETS_VERSION_COMPONENT' },
    )
    clearVersionComponents()
    registerVersionComponent('none', files('missing'))
    registerVersionComponent('folder', [folder])
    expect(describeAppVersion()).toEqual({ version: 'unknown', source: 'unknown', components: { folder: 0, none: 0 } })
  })

  it('takes file URLs', () => {
    registerVersionComponent(
      'templates',
      files('hello', 'world').map((path) => pathToFileURL(path)),
    )
    expect(getAppVersion()).toBe('99da023872c1')
  })

  it('takes a name that an object has already', () => {
    registerVersionComponent('__proto__', files('hello'))
    expect(JSON.stringify(describeAppVersion().components)).toBe('{"__proto__":1}')
  })

  it('takes the same files again, but no others', () => {
    registerVersionComponent('templates', files('hello'))
    registerVersionComponent('templates', files('hello'))
    expect(() => registerVersionComponent('templates', files('world'))).toThrow(
      'registerVersionComponent(): "templates" is registered with other files already; choose another name',
    )
    expect(() => registerVersionComponent('', [])).toThrow(ConfigurationError)
    expect(() => registerVersionComponent('x', 'a.html' as never)).toThrow(ConfigurationError)
  })
})
