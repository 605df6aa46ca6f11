import { describe, expect, test } from 'vitest'
import { EmailField, IPAddressField, URLField, UUIDField } from '../../../lib/fields/formatted-text-fields.js'
import { refusal, shown } from './refusal.js'

describe('EmailField', () => {
  test.each(['a@b', 'ada@example.org', 'büro@münchen.example', "o'neil+tag@x.y"])('accepts %s', (text) => {
    expect(new EmailField().toInternalValue(text)).toBe(text)
  })

  test.each(['', '@', 'a@', '@b', 'ab', 'a b@c', 'a@b c', 'a@b\n', 'a@b@c', 'a@\u0001b', ' a@b'])(
    '[B16] refuses %j',
    async (text) => {
      expect(await refusal(new EmailField(), text)).toEqual(['Enter a valid email address.'])
    },
  )

  test('checks length, blank, NUL and Unicode as a StringField does', async () => {
    expect(await refusal(new EmailField({ maxLength: 5 }), 'abc@de')).toEqual([
      'Ensure this field has no more than 5 characters.',
    ])
    expect(await refusal(new EmailField({ allowBlank: false }), '')).toEqual(['This field may not be blank.'])
    expect(new EmailField({ allowBlank: true }).toInternalValue('')).toBe('')
    expect(await refusal(new EmailField(), 'a@b\0')).toEqual(['Null characters are not allowed.'])
    expect(await refusal(new EmailField(), 'a@b\ud800')).toEqual(['Invalid Unicode.'])
  })

  test('takes time in proportion to the length of hostile text', async () => {
    // 2 ms; in proportion to its square it is minutes
    const started = performance.now()
    for (const text of ['a@'.repeat(100_000), `${'a'.repeat(200_000)} `, '@'.repeat(200_000)]) {
      await refusal(new EmailField(), text)
    }
    expect(performance.now() - started).toBeLessThan(5_000)
  })
})

describe('URLField', () => {
  test.each(['http://example.org', 'https://example.org:8080/a?b=c#d', 'https://münchen.example/ü', 'http://[::1]/'])(
    'accepts %s as it was sent',
    (text) => {
      expect(new URLField().toInternalValue(text)).toBe(text)
    },
  )

  test.each([
    '',
    'javascript:alert(1)',
    'ftp://example.org',
    '//example.org',
    'http:example.org',
    'http:/example.org',
    'http://',
    'http:///example.org',
    'http://\\example.org',
    'http://?x',
    'http://a b',
    ' http://a',
    'http://a\n',
    'http://a\u0001',
    'http://a:99999',
    'xhttp://a',
  ])('[B16] refuses %j', async (text) => {
    expect(await refusal(new URLField(), text)).toEqual(['Enter a valid URL.'])
  })
})

describe('UUIDField', () => {
  const lower = '0189f7ea-ae2c-7809-8aeb-b819cf5e9e7f'

  test('takes any case and stores lower case', () => {
    expect(new UUIDField().toInternalValue(lower.toUpperCase())).toBe(lower)
    expect(shown(new UUIDField(), lower.toUpperCase())).toBe(lower)
  })

  test.each([
    '',
    lower.replaceAll('-', ''),
    `{${lower}}`,
    `urn:uuid:${lower}`,
    `${lower} `,
    `${lower}\n`,
    lower.replace('0', 'g'),
  ])('refuses %j', async (text) => {
    expect(await refusal(new UUIDField(), text)).toEqual(['Must be a valid UUID.'])
  })
})

describe('IPAddressField', () => {
  test.each(['1.2.3.4', '255.255.255.255', '::', '::1', '2001:DB8::1', '::ffff:1.2.3.4', '1:2:3:4:5:6:7:8'])(
    'accepts %s',
    (text) => {
      expect(new IPAddressField().toInternalValue(text)).toBe(text)
      expect(new IPAddressField({ network: true }).toInternalValue(text)).toBe(text)
    },
  )

  test.each([
    '',
    '1.2.3',
    '1.2.3.256',
    '01.2.3.4',
    '1.2.3.4 ',
    'fe80::1%eth0',
    ':::',
    '1:2',
    'x',
    '10.0.0.0/8',
    '::/0',
  ])('[B16] refuses %j', async (text) => {
    expect(await refusal(new IPAddressField(), text)).toEqual(['Enter a valid IP address.'])
  })

  test('takes a network where it is told to', async () => {
    const field = new IPAddressField({ network: true })
    for (const text of ['10.0.0.0/8', '10.0.0.1/32', '0.0.0.0/0', '2001:db8::/32', '::/128']) {
      expect(field.toInternalValue(text)).toBe(text)
    }
    for (const text of [
      '10.0.0.0/33',
      '::/129',
      '10.0.0.0/',
      '10.0.0.0/08',
      '10.0.0.0/-1',
      '10.0.0.0/8/8',
      '/8',
      '1/8',
    ]) {
      expect(await refusal(field, text)).toEqual(['Enter a valid IP address.'])
    }
  })
})

test('all describe their format', () => {
  expect(new EmailField({ maxLength: 9 }).schema()).toEqual({ type: 'string', format: 'email', maxLength: 9 })
  expect(new URLField().schema()).toEqual({ type: 'string', format: 'uri' })
  expect(new UUIDField().schema()).toEqual({ type: 'string', format: 'uuid' })
  expect(new IPAddressField().schema()).toEqual({ type: 'string', anyOf: [{ format: 'ipv4' }, { format: 'ipv6' }] })
})
