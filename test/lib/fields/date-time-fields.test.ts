import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { DateField, DateTimeField, OffsetTimeField, TimeField } from '../../../lib/fields/date-time-fields.js'
import { ConfigurationError } from '../../../lib/kernel/errors.js'
import { keepText } from '../../../lib/models/database-text.js'
import { compiledModules } from '../../support/program.js'
import { refusal, shown } from './refusal.js'

describe('DateTimeField', () => {
  const field = new DateTimeField()

  test.each([
    ['2026-03-28T15:30', '2026-03-28T15:30:00Z'],
    ['2026-03-28T15:30Z', '2026-03-28T15:30:00Z'],
    ['2026-03-28T15:30:00', '2026-03-28T15:30:00Z'],
    ['2026-03-28T15:30:00.123400Z', '2026-03-28T15:30:00.1234Z'],
    ['2026-03-28T15:30:00.000000Z', '2026-03-28T15:30:00Z'],
    ['2026-03-28T15:30:00.000001Z', '2026-03-28T15:30:00.000001Z'],
    ['2026-03-28T15:30:00+01:00', '2026-03-28T14:30:00Z'],
    ['2026-03-28T15:30:00+0130', '2026-03-28T14:00:00Z'],
    ['2026-03-28T15:30:00-01', '2026-03-28T16:30:00Z'],
    ['2024-02-29T23:30:00-01:00', '2024-03-01T00:30:00Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00Z'],
    ['9999-12-31T23:59:59.999999Z', '9999-12-31T23:59:59.999999Z'],
  ])('[B6 B15] takes %s and stores %s', (value, stored) => {
    expect(field.toInternalValue(value)).toBe(stored)
    expect(field.toInternalValue(stored)).toBe(stored)
    expect(shown(field, stored)).toBe(stored)
  })

  test.each([
    'now',
    'Infinity',
    '+infinity',
    'epoch',
    'today',
    '',
    '2026-03-28',
    '2026-03-28 15:30:00',
    '2026-03-28t15:30:00z',
    '2026-03-28T15:30:00z',
    '2026-03-28T15',
    '2026-3-28T15:30',
    '20260328T153000Z',
    '2026-03-28T24:00:00Z',
    '2026-03-28T23:59:60Z',
    '2026-02-29T00:00Z',
    '2024-02-30T00:00Z',
    '2026-13-01T00:00Z',
    '2026-00-01T00:00Z',
    '0000-01-01T00:00Z',
    '0001-01-01T00:00+14:00',
    '9999-12-31T23:59:59-01:00',
    '10000-01-01T00:00Z',
    '+010000-01-01T00:00Z',
    '-000001-01-01T00:00Z',
    '2026-03-28T15:30:00.1234567Z',
    '2026-03-28T15:30:00.Z',
    '2026-03-28T15:30:00,5Z',
    '2026-03-28T15:30.5Z',
    '2026-03-28T15:30:00+24:00',
    '2026-03-28T15:30:00+01:60',
    '2026-03-28T15:30:00+1',
    '2026-03-28T15:30:00 Z',
    '2026-03-28T15:30:00Z\n',
    '2026-03-28T15:30:00[Europe/Berlin]',
    '２026-03-28T15:30:00Z',
    '2026-03-28T15:30:00Z BC',
    1774711800,
    new Date(Number.NaN),
    new Date('+010000-01-01T00:00:00Z'),
    new Date(-62_167_219_200_001),
  ])('[B6] refuses %s', async (value) => {
    expect(await refusal(field, value)).toEqual(['Use the format YYYY-MM-DDTHH:MM:SS[.ffffff][Z|±HH:MM].'])
  })

  test('takes a Date from code, with the microseconds it came with', () => {
    const date = new Date('2026-03-28T15:30:00.120Z')
    expect(field.toInternalValue(date)).toBe('2026-03-28T15:30:00.12Z')
    keepText(date, '2026-03-28 16:30:00.120034+01')
    expect(field.toInternalValue(date)).toBe('2026-03-28T15:30:00.120034Z')
  })

  test.each([
    ['2026-03-28 15:30:00+00', '2026-03-28T15:30:00Z'],
    ['2026-03-28 15:30:00.1234+00', '2026-03-28T15:30:00.1234Z'],
    ['2026-03-28 15:30:00.123456+00', '2026-03-28T15:30:00.123456Z'],
    ['2026-03-28 15:30:00.500000+00', '2026-03-28T15:30:00.5Z'],
    ['2026-03-28 15:30:00.0+00', '2026-03-28T15:30:00Z'],
    ['2026-03-28 15:30:00.123456789+00', '2026-03-28T15:30:00.123456Z'],
    ['2026-03-28 15:30:00', '2026-03-28T15:30:00Z'],
    ['2026-03-28 15:30:00.5', '2026-03-28T15:30:00.5Z'],
    ['2026-03-28 16:30:00.1234+01', '2026-03-28T15:30:00.1234Z'],
    ['2026-01-01 00:15:00+05:30', '2025-12-31T18:45:00Z'],
    ['2024-02-29 20:00:00-05', '2024-03-01T01:00:00Z'],
    ['1900-01-01 05:21:10+05:21:10', '1900-01-01T00:00:00Z'],
    ['1883-11-18 12:03:57-04:56:02', '1883-11-18T16:59:59Z'],
    ['0001-01-01 00:00:00+00', '0001-01-01T00:00:00Z'],
    ['0099-12-31 23:30:00-01', '0100-01-01T00:30:00Z'],
    ['9999-12-31 23:59:59.999999+00', '9999-12-31T23:59:59.999999Z'],
    ['2026-03-28T15:30:00.1200Z', '2026-03-28T15:30:00.12Z'],
    ['2026-03-28T15:30:00.12+01:00', '2026-03-28T14:30:00.12Z'],
    ['2026-03-28T15:30Z', '2026-03-28T15:30:00Z'],
    ['2026-03-28 15:30+01', '2026-03-28T14:30:00Z'],
    ['2026-03-28 15:30:00.1+00:30', '2026-03-28T15:00:00.1Z'],
    ['2026-03-28 15:30:00.500', '2026-03-28T15:30:00.5Z'],
    ['no timestamp', 'no timestamp'],
    // PostgreSQL's JSON text in UTC.
    ['10000-01-01 00:00:00.5+00', '10000-01-01T00:00:00.5+00:00'],
    ['10000-01-01 00:00:00.5', '10000-01-01T00:00:00.5'],
    ['9999-12-31 23:30:00-01', '10000-01-01T00:30:00+00:00'],
    ['10000-01-01 00:30:00+01', '9999-12-31T23:30:00Z'],
    ['294276-12-31 23:59:59.999999+00', '294276-12-31T23:59:59.999999+00:00'],
    ['0044-03-15 12:00:00+00 BC', '0044-03-15T12:00:00+00:00 BC'],
    ['0044-03-15 12:53:28+00:53:28 BC', '0044-03-15T12:00:00+00:00 BC'],
    ['0044-03-15 12:00:00 BC', '0044-03-15T12:00:00 BC'],
    ['0001-12-31 23:30:00-01 BC', '0001-01-01T00:30:00Z'],
    ['0001-01-01 00:30:00+01', '0001-12-31T23:30:00+00:00 BC'],
    ['4714-11-24 00:00:00+00 BC', '4714-11-24T00:00:00+00:00 BC'],
    ['2026-03-28', '2026-03-28T00:00:00Z'],
    ['infinity', 'infinity'],
    ['-infinity', '-infinity'],
    [Number.POSITIVE_INFINITY, 'infinity'],
    [Number.NEGATIVE_INFINITY, '-infinity'],
  ])('[B15] shows %s as %s', (value, output) => {
    expect(shown(field, value)).toBe(output)
  })

  test.each([
    [new Date('2026-03-28T15:30:00.123Z'), '2026-03-28T15:30:00.123Z'],
    [new Date('2026-03-28T15:30:00.120Z'), '2026-03-28T15:30:00.12Z'],
    [new Date('2026-03-28T15:30:00Z'), '2026-03-28T15:30:00Z'],
    [new Date('+010000-01-01T00:00:00Z'), '10000-01-01T00:00:00+00:00'],
    [new Date('-000043-03-15T12:00:00Z'), '0044-03-15T12:00:00+00:00 BC'],
    [new Date('0000-01-01T00:00:00Z'), '0001-01-01T00:00:00+00:00 BC'],
  ])('shows the Date %s as %s', (date, output) => {
    expect(shown(field, date)).toBe(output)
  })

  test('[B15] keeps the microseconds of a Date from the database, unless it was changed', () => {
    const date = keepText(new Date('2026-03-28T15:30:00.123Z'), '2026-03-28 16:30:00.123456+01') as Date
    expect(shown(field, date)).toBe('2026-03-28T15:30:00.123456Z')
    date.setUTCMilliseconds(5)
    expect(shown(field, date)).toBe('2026-03-28T15:30:00.005Z')
  })

  test('shows a format of its own, and takes ISO 8601 all the same', () => {
    const dotted = new DateTimeField({ formatStr: '%d.%m.%Y %H:%M:%S.%f (%j) %z' })
    expect(shown(dotted, '2026-03-28 16:30:05.12+01')).toBe('28.03.2026 15:30:05.120000 (087) +0000')
    expect(shown(dotted, '2024-12-31 00:00:00+00')).toBe('31.12.2024 00:00:00.000000 (366) +0000')
    expect(shown(dotted, 'infinity')).toBe('infinity')
    expect(shown(dotted, '0044-03-15 12:00:00+00 BC')).toBe('0044-03-15T12:00:00+00:00 BC')
    expect(dotted.toInternalValue('2026-03-28T15:30Z')).toBe('2026-03-28T15:30:00Z')
    expect(dotted.schema()).toEqual({ type: 'string' })
    expect(shown(new DateTimeField({ formatStr: 'iso' }), '2026-03-28 15:30:00+00')).toBe('2026-03-28T15:30:00Z')
  })

  test.each(['%y', '%', '%Y-%', '%%', '%Q %Y'])('refuses the format %j', (formatStr) => {
    expect(() => new DateTimeField({ formatStr })).toThrow(ConfigurationError)
  })
})

describe('DateField', () => {
  const field = new DateField()

  test.each(['2026-03-28', '2024-02-29', '0001-01-01', '9999-12-31'])('[B6] takes %s', (text) => {
    expect(field.toInternalValue(text)).toBe(text)
  })

  test.each([
    'today',
    'Infinity',
    '',
    '2024-02-30',
    '2026-02-29',
    '1900-02-29',
    '2026-04-31',
    '0000-01-01',
    '10000-01-01',
    '2026-3-28',
    '20260328',
    '2026-03-28T00:00:00Z',
    '2026-03-28 ',
    '2026/03/28',
    '2026-W13-6',
    '2026-087',
    new Date(Number.NaN),
  ])('[B6] refuses %s', async (value) => {
    expect(await refusal(field, value)).toEqual(['Use the format YYYY-MM-DD.'])
  })

  test('takes and shows the local day of a Date', () => {
    const midnight = new Date(2026, 2, 28)
    expect(field.toInternalValue(midnight)).toBe('2026-03-28')
    expect(shown(field, midnight)).toBe('2026-03-28')
    expect(shown(field, keepText(new Date(2026, 2, 27, 23), '2026-03-28'))).toBe('2026-03-28')
  })

  test.each([
    ['2026-03-28 23:30:00.5-05', '2026-03-29'],
    ['2026-03-28 23:30:00', '2026-03-28'],
    ['2026-03-28 23:30:00+00', '2026-03-28'],
    ['0044-03-15 12:00:00+00 BC', '0044-03-15 BC'],
    ['0044-03-15 BC', '0044-03-15 BC'],
    ['12026-03-28 12:00:00+00', '12026-03-28'],
  ])('[B15] shows the day in UTC of a point in time, %s', (text, day) => {
    expect(shown(field, keepText(new Date(0), text))).toBe(day)
  })

  test.each([
    ['2026-03-28', '2026-03-28'],
    ['10000-01-01', '10000-01-01'],
    ['0044-03-15 BC', '0044-03-15 BC'],
    ['infinity', 'infinity'],
    [Number.NEGATIVE_INFINITY, '-infinity'],
    [new Date(10000, 0, 1), '10000-01-01'],
    [new Date(-43, 2, 15), '0044-03-15 BC'],
  ])('shows %s as %s', (value, output) => {
    expect(shown(field, value)).toBe(output)
  })
})

describe('TimeField', () => {
  const field = new TimeField()

  test.each([
    ['15:30', '15:30:00'],
    ['15:30:00', '15:30:00'],
    ['15:30:00.500', '15:30:00.5'],
    ['15:30:00.000000', '15:30:00'],
    ['23:59:59.999999', '23:59:59.999999'],
    ['24:00', '24:00:00'],
    ['24:00:00.0', '24:00:00'],
  ])('[B6] takes %s and stores %s', (value, stored) => {
    expect(field.toInternalValue(value)).toBe(stored)
  })

  test.each([
    '',
    '15',
    '24:01',
    '24:00:01',
    '24:00:00.000001',
    '23:60',
    '23:59:60',
    '1:30',
    '15:30.5',
    '15:30:00Z',
    '15:30:00+01',
    '15:30:00.1234567',
    'now',
    'T15:30',
  ])('[B6] refuses %j', async (value) => {
    expect(await refusal(field, value)).toEqual(['Use the format HH:MM:SS[.ffffff].'])
  })

  test.each([
    ['15:30:00', '15:30:00'],
    ['15:30:00.500000', '15:30:00.5'],
    ['15:30:00.000', '15:30:00'],
    ['10:20:30', '10:20:30'],
    ['24:00:00', '24:00:00'],
  ])('shows %s as %s', (value, output) => {
    expect(shown(field, value)).toBe(output)
  })
})

describe('OffsetTimeField', () => {
  const field = new OffsetTimeField()

  test.each([
    ['15:30Z', '15:30:00+00'],
    ['15:30:00.500+02', '15:30:00.5+02'],
    ['15:30:00+02:00', '15:30:00+02'],
    ['15:30:00-00:00', '15:30:00+00'],
    ['15:30:00-00:30', '15:30:00-00:30'],
    ['23:59:59.999999+05:30', '23:59:59.999999+05:30'],
    ['24:00:00-15:59', '24:00:00-15:59'],
    ['12:00:00+00:53:28', '12:00:00+00:53:28'],
  ])('[B6] takes %s and stores %s', (value, stored) => {
    expect(field.toInternalValue(value)).toBe(stored)
    expect(field.toInternalValue(stored)).toBe(stored)
    expect(new RegExp(field.schema().pattern ?? 'none').test(value)).toBe(true)
  })

  test.each([
    ...['', 'now', 'allballs', '15:30', '15:30:00', '15:30:00 ', '15:30:00z', '15:30:00+2', '15:30:00+0200'],
    ...['15:30:00+16', '15:30:00+02:60', '24:00:01Z', '23:59:60Z', '15:30:00.1234567Z', '15:30:00 UTC', 153000],
    ...['2026-03-28T15:30:00Z', '15:30:00+00:00:00:00', '15:30:00Z\n'],
  ])('[B6] refuses %j', async (value) => {
    expect(await refusal(field, value)).toEqual(['Use the format HH:MM:SS[.ffffff](Z|±HH[:MM]).'])
  })
})

test('all describe their format', () => {
  expect(new DateTimeField().schema()).toEqual({ type: 'string', format: 'date-time' })
  expect(new DateField().schema()).toEqual({ type: 'string', format: 'date' })
  expect(new TimeField().schema()).toEqual({ type: 'string', format: 'time-local' })
})

test.each(['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata'])(
  '[B15] shows the same bytes under TZ=%s',
  (zone) => {
    const module = fileURLToPath(new URL('../../../lib/index.ts', import.meta.url))
    const script = `
    const { DateField, DateTimeField } = await import(${JSON.stringify(module)})
    const field = new DateTimeField()
    process.stdout.write(JSON.stringify([
      field.toInternalValue('2026-03-29T02:30:00'),
      field.toRepresentation('2026-03-29 02:30:00'),
      field.toRepresentation('2026-03-29 02:30:00+02'),
      field.toRepresentation('0044-03-15 12:00:00+01 BC'),
      field.toRepresentation(new Date('2026-03-29T02:30:00Z')),
      new DateField().toRepresentation(new Date(2026, 2, 29)),
      new DateField().toInternalValue('2026-03-29'),
    ]))`
    const { stdout, stderr } = spawnSync(
      process.execPath,
      ['--import', 'tsx', '--input-type=module', '--eval', script],
      {
        env: { ...process.env, ...compiledModules(), TZ: zone },
        encoding: 'utf8',
      },
    )
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toEqual([
      '2026-03-29T02:30:00Z',
      '2026-03-29T02:30:00Z',
      '2026-03-29T00:30:00Z',
      '0044-03-15T11:00:00+00:00 BC',
      '2026-03-29T02:30:00Z',
      '2026-03-29',
      '2026-03-29',
    ])
  },
)
