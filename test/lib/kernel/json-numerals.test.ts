import { describe, expect, it, vi } from 'vitest'
import { copyNumerals, hasNumerals, memberOf, Numeral, writeJson } from '../../../lib/kernel/json-numerals.js'
import { keepNumerals, keepNumeralsInTurns, parseJson } from '../../../lib/kernel/parse-json.js'

const EXACT = [
  '0',
  '-0.5',
  '1e5',
  '9007199254740991',
  '0.30000000000000004',
  '1234567890123456e-3',
  '1.7976931348623157e308',
  '5e-324',
  '1.000000000000000000',
  '0.0000000000000000001',
  '1E+100',
  '12300000000000000000000e-20',
]
const INEXACT = [
  '9007199254740993',
  '-9007199254740993',
  '1e400',
  '-1E-400',
  '1e309',
  '3.14159265358979323846',
  '0.1000000000000000055',
  '1.00000000000000000001',
  '2e-324',
  '123456789012345678e-19',
]

it.each(EXACT)('leaves %s to JavaScript, whose number it is', (number) => {
  expect(parseJson(number)).toBe(Number(number))
  expect(hasNumerals(parseJson(`[${number},{"a":${number}}]`))).toBe(false)
})

it.each(INEXACT)('writes %s as it was read', (number) => {
  expect(parseJson(` ${number}\n`)).toEqual(new Numeral(number))
  expect(writeJson(parseJson(number))).toBe(number)
  const json = `{"a":[${number},1],"${number}":{"b":[[${number}]]},"text":"${number}","c":${number}}`
  expect(writeJson(parseJson(json))).toBe(json)
  expect(writeJson({ inside: [parseJson(json)] })).toBe(`{"inside":[${json}]}`)
  expect(JSON.parse(JSON.stringify(parseJson(json)))).toEqual(JSON.parse(JSON.stringify(JSON.parse(json))))
})

it('does not take texts, dates and telephone numbers for such numbers', () => {
  for (const text of [
    '1234567890123456789',
    '2026-03-28T15:30:00.123456',
    '+49-170-1234567',
    '978-3-16-148410-0',
    '1e400',
  ]) {
    const value: unknown = parseJson(JSON.stringify({ text, list: [text, { [text]: text }] }))
    expect(hasNumerals(value)).toBe(false)
    expect(parseJson(JSON.stringify(text))).toBe(text)
  }
})

describe('what code does with the value', () => {
  const read = () => parseJson('{"n":9007199254740993,"list":[1,9007199254740993],"in":{"n":9007199254740993}}') as any

  it('finds numbers', () => {
    const { n, list } = read()
    expect([typeof n, n + 1, list[1]]).toEqual(['number', 9007199254740992 + 1, 9007199254740992])
    expect(Object.keys(read())).toEqual(['n', 'list', 'in'])
    expect(Number(memberOf(list, 1))).toBe(9007199254740992)
    expect(String(memberOf(list, 1))).toBe('9007199254740993')
    expect(memberOf(list, 0)).toBe(1)
  })

  it('is written as the code has changed it', () => {
    const value = read()
    value.n = 5
    value.list.unshift('new')
    value.in.more = [undefined, () => 1]
    value.in.none = undefined
    expect(writeJson(value)).toBe(
      '{"n":5,"list":["new",1,9007199254740992],"in":{"n":9007199254740993,"more":[null,null]}}',
    )
  })

  it('keeps the digits in a copy', () => {
    expect(writeJson({ ...read(), n: 1 })).toBe('{"n":1,"list":[1,9007199254740993],"in":{"n":9007199254740993}}')
    const copy: unknown = structuredClone(read())
    expect(writeJson(copy)).not.toContain('3')
    copyNumerals(read(), copy)
    expect(writeJson(copy)).toBe(writeJson(read()))
  })

  it('is JSON in a text of JSON', () => {
    const inner = { toJSON: () => JSON.stringify({ a: JSON.stringify(read().list) }) }
    expect(writeJson([inner])).toBe(JSON.stringify([JSON.stringify({ a: '[1,9007199254740993]' })]))
  })
})

it('leaves values alone that another parser has made of the text', () => {
  const json = '{"n":9007199254740993,"m":9007199254740993}'
  expect(keepNumerals(json, json)).toBe(json)
  expect(keepNumerals({ n: 9007199254740993n, m: '9007199254740993' }, json)).toEqual({
    n: 9007199254740993n,
    m: '9007199254740993',
  })
  expect(keepNumerals(null, json)).toBe(null)
  expect(keepNumerals([1], json)).toEqual([1])
})

it('goes on after a value that cannot be written', () => {
  const circle: Record<string, unknown> = { n: parseJson('9007199254740993') }
  circle['circle'] = circle
  expect(() => writeJson(circle)).toThrow(TypeError)
  expect(writeJson({ n: 1 })).toBe('{"n":1}')
  expect(JSON.stringify(parseJson('[9007199254740993]'))).toBe('[9007199254740992]')
})

it('reads and writes JSON of any shape without loss', () => {
  // a small generator, the same at each run
  let seed = 7
  const random = (below: number) => {
    seed = (seed * 48271) % 2147483647
    return seed % below
  }
  const digits = (count: number) => Array.from({ length: count }, () => random(10)).join('')
  const number = () => {
    const whole = `${1 + random(9)}${digits(random(22))}`
    const fraction = random(2) === 0 ? '' : `.${digits(random(22))}${1 + random(9)}`
    return `${random(2) === 0 ? '-' : ''}${whole}${fraction}`
  }
  const value = (depth: number): string => {
    const kind = random(depth > 4 ? 3 : 5)
    if (kind === 0) return number()
    if (kind === 1) return JSON.stringify(`${number()}"\\${number()}`)
    if (kind === 2) return ['true', 'false', 'null', '1', '""'][random(5)] as string
    const members = Array.from({ length: random(5) }, () => value(depth + 1))
    if (kind === 3) return `[${members.join()}]`
    return `{${members.map((member, index) => `"k${index}${['"', '\\\\', '1e400', ''][random(4)]?.replace('"', '\\"')}":${member}`).join()}}`
  }
  for (let round = 0; round < 2000; round++) {
    const json = value(0)
    // numbers that JavaScript has are written in its own way
    const normal = json.replace(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?/g, (token) => {
      if (token.startsWith('"')) return token
      return new RegExp(`^${String(Number(token)).replace('.', '\\.')}0*$`).test(token) ? String(Number(token)) : token
    })
    expect(writeJson(parseJson(json))).toBe(normal)
  }
})

it('reads a long text in several turns as in one', async () => {
  const item = '{"a":[9007199254740993,"9007199254740993\\"",{"b":-1e400}],"c":0.5}'
  const json = `{"list":[${Array(6000).fill(item).join()}],"n":9007199254740993}`
  expect(json.length).toBeGreaterThan(300_000)
  const other = vi.fn<() => void>()
  setImmediate(other)
  const kept = await keepNumeralsInTurns(JSON.parse(json), json)
  expect(other).toHaveBeenCalled()
  expect(writeJson(kept)).toBe(json)
  expect(String(await keepNumeralsInTurns(9007199254740992, '9007199254740993'))).toBe('9007199254740993')
})

it('writes long runs of backslashes beside such numbers as fast as other texts', () => {
  const note = '\\'.repeat(200_000)
  // 3 ms; in proportion to its square it is a minute
  const before = process.cpuUsage()
  const text = writeJson({ note, list: [parseJson('[1e400]'), '\\"'] })
  expect(process.cpuUsage(before).user / 1_000).toBeLessThan(1_000)
  expect(text).toBe(`{"note":${JSON.stringify(note)},"list":[[1e400],"\\\\\\""]}`)
})
