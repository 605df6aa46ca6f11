import { describe, expect, it } from 'vitest'
import { findReferences, replaceReferences } from '../../../lib/assets/css-references.js'

const SHEET = 'css/app.css'

function targets(css: string): (string | undefined)[] {
  return findReferences(Buffer.from(css).toString('latin1'), SHEET).map(({ target }) => target)
}

function rewrite(css: string, names: Record<string, string>): string {
  const text = Buffer.from(css).toString('latin1')
  const rewritten = replaceReferences(text, SHEET, findReferences(text, SHEET), (target) => names[target])
  return Buffer.from(rewritten, 'latin1').toString()
}

describe('findReferences', () => {
  it.each([
    ['url("a.png")', ['css/a.png']],
    ["url('../img/a.png')", ['img/a.png']],
    ['url(a.png)', ['css/a.png']],
    ['URL( \n a.png\t)', ['css/a.png']],
    ['url(a.png), url("b.png")', ['css/a.png', 'css/b.png']],
    ['@import "b.css";', ['css/b.css']],
    ["@IMPORT 'b.css' screen;", ['css/b.css']],
    ['@import/**/"b.css" layer(a);', ['css/b.css']],
    ['@import url(b.css) supports(display: grid);', ['css/b.css']],
    ['url("font.eot?#iefix")', ['css/font.eot']],
    ['url(./a/../b.png)', ['css/b.png']],
    ['url("a%20b.png")', ['css/a b.png']],
    ['url(a\\ b.png)', ['css/a b.png']],
    ['url("a\\62 c.png")', ['css/abc.png']],
    ['url("a\\\nb.png")', ['css/ab.png']],
    ['url("ü.png")', ['css/ü.png']],
    ['image-set(url(a.png) 1x, url("b.png") 2x)', ['css/a.png', 'css/b.png']],
  ])('finds those of %j', (css, expected) => {
    expect(targets(css)).toEqual(expected)
  })

  it.each([
    '/* url(a.png) @import "b.css" */',
    '/* never closed url(a.png)',
    'a::before { content: "url(a.png)" }',
    "a::before { content: '@import \\'b.css\\'' }",
    'url("")',
    'url()',
    'url(#gradient)',
    'url(?x)',
    'url(data:image/png;base64,AAAA)',
    'url("data:image/svg+xml,<svg fill=\'url(a.png)\'/>")',
    'url(https://example.com/a.png)',
    'url(//example.com/a.png)',
    'url(/static/a.png)',
    '@namespace svg url(http://www.w3.org/2000/svg);',
    'my-url(a.png)',
    'myurl(a.png)',
    '\\url(a.png)',
    '@importance "a.css"',
    'url(a b.png)',
    'url("a.png" b)',
  ])('finds none in %j', (css) => {
    expect(targets(css)).toEqual([])
  })

  it.each(['url(../../a.png)', 'url(../../../etc/passwd)', 'url("%zz")', 'url("a\\\\b.png")'])(
    '[F17] finds no target for %j',
    (css) => {
      expect(targets(css)).toEqual([undefined])
    },
  )

  it('reads a long sheet of hostile text in a moment', () => {
    for (const part of ['url(', '"', '/*', '@import ', 'url("\\', '\\', '@import/**/', "url('a"]) {
      expect(targets(part.repeat(20_000)).length).toBeGreaterThanOrEqual(0)
    }
  })
})

describe('replaceReferences', () => {
  const names = {
    'img/logo.svg': 'img/logo.0123456789ab.svg',
    'css/b.css': 'css/b.0123456789ab.css',
    'css/a b.png': 'css/a b.0123456789ab.png',
    'css/font.eot': 'css/font.0123456789ab.eot',
  }

  it.each([
    ['body{background:url("../img/logo.svg")}', 'body{background:url("../img/logo.0123456789ab.svg")}'],
    ['url( ../img/logo.svg )', 'url( ../img/logo.0123456789ab.svg )'],
    ["@import 'b.css' screen;", "@import 'b.0123456789ab.css' screen;"],
    ['url(a\\ b.png)', 'url(a%20b.0123456789ab.png)'],
    ['url("font.eot?#iefix")', 'url("font.0123456789ab.eot?#iefix")'],
    ['url(../img/logo.svg#a\\)b)', 'url(../img/logo.0123456789ab.svg#a%29b)'],
    ['/* ü url(b.css) */ url(b.css)', '/* ü url(b.css) */ url(b.0123456789ab.css)'],
    ['url(unknown.png)', 'url(unknown.png)'],
  ])('rewrites %j', (css, expected) => {
    expect(rewrite(css, names)).toBe(expected)
  })

  it('changes no byte of a sheet in another encoding', () => {
    const bytes = Buffer.from([0xff, 0xfe, 0x80, ...Buffer.from(' url(b.css)'), 0xe9])
    const text = bytes.toString('latin1')
    const rewritten = replaceReferences(text, SHEET, findReferences(text, SHEET), () => 'css/c.css')
    expect(Buffer.from(rewritten, 'latin1')).toEqual(
      Buffer.from([0xff, 0xfe, 0x80, ...Buffer.from(' url(c.css)'), 0xe9]),
    )
  })
})
