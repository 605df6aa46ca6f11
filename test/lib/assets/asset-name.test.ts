import { describe, expect, it } from 'vitest'
import { encodeAssetName, encodeSuffix, hashedName, isAssetName, isHidden } from '../../../lib/assets/asset-name.js'

describe('isAssetName', () => {
  it.each(['a', 'css/app.css', 'a b/ü.png', 'a..b.js', '..a', 'C/x', '__proto__', 'constructor', 'a%2fb'])(
    'takes %j',
    (name) => {
      expect(isAssetName(name)).toBe(true)
    },
  )

  it.each([
    ...['', '/', '/etc/passwd', 'a//b', 'a/', '.', '..', './a', '../a', 'a/../b', 'a/..', '../../etc/passwd'],
    ...['a\\b', '..\\a', 'C:/x', 'c:x', 'a\0.css', '\0'],
  ])('[F17] refuses %j', (name) => {
    expect(isAssetName(name)).toBe(false)
  })
})

describe('isHidden', () => {
  it.each([
    ['.env', true],
    ['a/.git/config', true],
    ['a/b.css', false],
    ['a./b', false],
  ])('of %j is %j', (name, hidden) => {
    expect(isHidden(name)).toBe(hidden)
  })
})

describe('hashedName', () => {
  it.each([
    ['js/app.min.js', 'js/app.min.HASH.js'],
    ['LICENSE', 'LICENSE.HASH'],
    ['a.b/LICENSE', 'a.b/LICENSE.HASH'],
    ['a.b/c.d', 'a.b/c.HASH.d'],
  ])('of %j is %j', (name, hashed) => {
    expect(hashedName(name, 'HASH')).toBe(hashed)
  })
})

describe('encodeAssetName', () => {
  it.each([
    ['css/app.css', 'css/app.css'],
    ['a b/ü.png', 'a%20b/%C3%BC.png'],
    ['50%.png', '50%25.png'],
    ['a?b#c', 'a%3Fb%23c'],
    [`"'<>&()*!.js`, '%22%27%3C%3E%26%28%29%2A%21.js'],
    ['javascript:alert(1)', 'javascript%3Aalert%281%29'],
    ['\ud800', '%EF%BF%BD'],
  ])('writes %j as %j', (name, encoded) => {
    expect(encodeAssetName(name)).toBe(encoded)
  })
})

describe('encodeSuffix', () => {
  it.each([
    ['#icon-1', '#icon-1'],
    ['?#iefix', '?#iefix'],
    ['#a"b\'c)d\\e<', '#a%22b%27c%29d%5Ce%3C'],
  ])('writes %j as %j', (suffix, encoded) => {
    expect(encodeSuffix(suffix)).toBe(encoded)
  })
})
