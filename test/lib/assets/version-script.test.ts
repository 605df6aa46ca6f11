import { createContext, Script } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { scriptString, versionScript } from '../../../lib/assets/version-script.js'

describe('scriptString', () => {
  it.each([
    ['</script><script>alert(1)//', String.raw`"\u003c/script\u003e\u003cscript\u003ealert(1)//"`],
    [String.raw`a"b\c&d`, String.raw`"a\"b\\c\u0026d"`],
    ['\u2028\u2029', String.raw`"\u2028\u2029"`],
    ['<!--', String.raw`"\u003c!--"`],
    ['v1', '"v1"'],
  ])('[G6] writes %j as %s', (text, written) => {
    expect(scriptString(text)).toBe(written)
    expect(JSON.parse(written)).toBe(text)
  })
})

describe('versionScript', () => {
  it('begins with the page variable and holds nothing that ends it', () => {
    const script = versionScript('</script><script>alert(1)//', 'reload')
    expect(script).toMatch(/^window\.__serviceAppVersion="\\u003c\/script/)
    expect(script).not.toMatch(/<|\beval\b|\bFunction\b|innerHTML|\.style/)
  })

  it('is a script that runs, for both actions', () => {
    for (const action of ['reload', 'warn'] as const) {
      const window: Record<string, unknown> = {}
      const listeners: string[] = []
      const document = { addEventListener: (name: string) => listeners.push(name) }
      const script = new Script(versionScript('v1', action))
      const context = createContext({ window, document })
      script.runInContext(context)
      script.runInContext(context)
      expect(window['__serviceAppVersion']).toBe('v1')
      expect(listeners).toEqual(['ajaxnav:afterRequest'])
    }
  })
})
