import { describe, expect, it } from 'vitest'
import { cleanFilename, UploadedFile } from '../../../lib/parsers/uploads.js'

describe('[F10] the name of a file', () => {
  it.each([
    ['a.png', 'a.png'],
    ['../../x.png', 'x.png'],
    ['/etc/passwd', 'passwd'],
    ['C:\\Users\\me\\a b.png', 'a b.png'],
    ['..\\..\\x.png', 'x.png'],
    ['a\0.php.png', 'a.php.png'],
    ['.htaccess', 'htaccess'],
    ['...a.png', 'a.png'],
    ['. .a.png', 'a.png'],
    ['a.png. . ', 'a.png'],
    ['a\r\nSet-Cookie: x.png', 'aSet-Cookie: x.png'],
    ['photo\u202egnp.exe', 'photognp.exe'],
    ['Zu\u0308rich.png', 'Z\u00fcrich.png'],
    ['😀.png', '😀.png'],
    ['', ''],
    ['.', ''],
    ['..', ''],
    ['/', ''],
    ['a/', ''],
    [`${'x'.repeat(254)} y`, 'x'.repeat(254)],
    ['\0', ''],
    ['%2e%2e%2fx.png', '%2e%2e%2fx.png'],
  ])('%j is %j', (name, clean) => {
    expect(cleanFilename(name)).toBe(clean)
  })

  it.each(['x'.repeat(5000), `${'x'.repeat(5000)}.png`, `${'ü'.repeat(300)}.png`, `${'😀'.repeat(300)}.jpeg`])(
    'has at most 255 bytes, and keeps its extension',
    (name) => {
      const clean = cleanFilename(name)
      expect(Buffer.byteLength(clean)).toBeLessThanOrEqual(255)
      expect(Buffer.byteLength(clean)).toBeGreaterThan(250)
      expect(clean.isWellFormed()).toBe(true)
      expect(clean.slice(-4)).toBe(name.slice(-4))
    },
  )
})

it('shows in JSON what the client said, and not where the file lies', () => {
  const file = new UploadedFile({ filename: 'a.png', mediaType: 'image/png', size: 3, path: '/tmp/x' })
  expect(JSON.parse(JSON.stringify(file))).toEqual({ filename: 'a.png', mediaType: 'image/png', size: 3 })
})
