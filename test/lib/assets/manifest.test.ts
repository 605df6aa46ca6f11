import { describe, expect, it, vi } from 'vitest'
import { createManifest, loadManifest, parseManifest, writeManifest } from '../../../lib/assets/manifest.js'
import { createFolder } from '../../support/files.js'

const paths = new Map([
  ['js/app.min.js', 'js/app.min.3879a5d930ae.js'],
  ['css/app.css', 'css/app.909e52614e00.css'],
  ['img/logo.svg', 'img/logo.fb91f9a03c20.svg'],
])

describe('createManifest', () => {
  it('hashes the pairs in order, as the wire format shows', () => {
    expect(createManifest(paths).hash).toBe('07dad15b2f7f')
    expect(createManifest(new Map([['css/a.css', 'css/a.abc123def456.css']])).hash).toBe('e16f3510142b')
  })

  it('sorts by code units', () => {
    const names = ['é', 'a', 'B', '\u{1f600}', '\uff01'].map((name) => [name, name] as const)
    expect([...createManifest(new Map(names)).paths.keys()]).toEqual(['B', 'a', 'é', '\u{1f600}', '\uff01'])
  })
})

describe('writeManifest', () => {
  it('writes version, paths and hash with two spaces and a line feed at the end', () => {
    expect(writeManifest(createManifest(paths))).toBe(`{
  "version": "1.1",
  "paths": {
    "css/app.css": "css/app.909e52614e00.css",
    "img/logo.svg": "img/logo.fb91f9a03c20.svg",
    "js/app.min.js": "js/app.min.3879a5d930ae.js"
  },
  "hash": "07dad15b2f7f"
}
`)
  })

  it('is read back as it was', () => {
    const manifest = createManifest(new Map([...paths, ['__proto__', '__proto__.0123456789ab'], ['7', '7.a']]))
    expect(parseManifest(writeManifest(manifest))).toEqual({
      hash: manifest.hash,
      paths: manifest.paths,
    })
  })
})

describe('parseManifest', () => {
  it('needs paths and hash only', () => {
    expect(parseManifest('{"paths":{"a.css":"x/a.css"},"hash":"v1.2_3-4"}')).toEqual({
      paths: new Map([['a.css', 'x/a.css']]),
      hash: 'v1.2_3-4',
    })
  })

  it.each([
    '',
    '{',
    'null',
    '[]',
    '"x"',
    '{}',
    '{"paths":{}}',
    '{"paths":[],"hash":"a"}',
    '{"paths":null,"hash":"a"}',
    '{"paths":{"a":1},"hash":"a"}',
    '{"paths":{"a":null},"hash":"a"}',
    '{"paths":{},"hash":7}',
    '{"paths":{},"hash":""}',
    '{"paths":{},"hash":"a b"}',
    '{"paths":{},"hash":"a\\r\\nX: y"}',
    '{"paths":{},"hash":"</script>"}',
    `{"paths":{},"hash":"${'a'.repeat(129)}"}`,
    '{"paths":{"a.css":"../a.css"},"hash":"a"}',
    '{"paths":{"a.css":"x/../../a.css"},"hash":"a"}',
    '{"paths":{"a.css":"/etc/passwd"},"hash":"a"}',
    '{"paths":{"a.css":"C:/a.css"},"hash":"a"}',
    '{"paths":{"a.css":"x\\\\a.css"},"hash":"a"}',
    '{"paths":{"a.css":"a\\u0000.css"},"hash":"a"}',
    '{"paths":{"a.css":""},"hash":"a"}',
    '{"paths":{"../a.css":"a.css"},"hash":"a"}',
  ])('[F17] refuses %s', (text) => {
    expect(() => parseManifest(text)).toThrow(/^(it|its) .* /)
  })
})

describe('loadManifest', () => {
  it('is undefined, without a warning, where there is none', () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    expect(loadManifest(createFolder())).toBeUndefined()
    expect(loadManifest('/nowhere/at/all')).toBeUndefined()
    expect(warn).not.toHaveBeenCalled()
    warn.mockRestore()
  })

  it('counts a broken one as absent, and says which and why in one line', () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const folder = createFolder({ 'staticfiles.json': '{"paths":{"a\\n":"../b"},"hash":"a"}' })
    expect(loadManifest(folder)).toBeUndefined()
    expect(warn).toHaveBeenCalledExactlyOnceWith(
      `${folder}/staticfiles.json is not used: its entry "a\\n" does not name a file in its folder. Run "koa-viewsets collectstatic" again.`,
      { code: 'KOA_VIEWSETS_MANIFEST' },
    )
    warn.mockRestore()
  })
})
