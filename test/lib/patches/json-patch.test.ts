/** JSON patches by the cases of json-patch-test-suite, and what they must not do. */
import { ApiError, ConfigurationError, ValidationError } from 'koa-viewsets'
import { applyPatch, JsonPatchParser } from 'koa-viewsets/patches'
import { describe, expect, it } from 'vitest'
import { writeJson } from '../../../lib/kernel/json-numerals.js'
import { parseJson } from '../../../lib/kernel/parse-json.js'
import { PATCH_CASES } from '../../support/patch-suite.js'

/** Lists in each other. */
function nested(levels: number): unknown {
  return JSON.parse('['.repeat(levels) + ']'.repeat(levels))
}

/** What is thrown. */
function errorOf(work: () => unknown): ApiError {
  try {
    work()
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

describe('json-patch-test-suite', () => {
  it('has as many cases as it had', () => {
    expect(PATCH_CASES.length).toBe(91)
  })

  it.each(PATCH_CASES)('$name', ({ doc, patch, expected, fails }) => {
    const before = structuredClone({ doc, patch })
    if (fails) expect([400, 409]).toContain(errorOf(() => applyPatch(doc, patch)).status)
    else if (expected === undefined) applyPatch(doc, patch)
    else expect(applyPatch(doc, patch)).toEqual(expected)
    expect({ doc, patch }).toEqual(before)
  })
})

describe('an operation that fails', () => {
  const target = { a: { b: 1 }, list: [1, 2], text: 'x' }
  it.each<[number, string, string, readonly unknown[]]>([
    [409, 'path', 'There is nothing at this place.', [{ op: 'remove', path: '/c' }]],
    [409, 'path', 'There is nothing at this place.', [{ op: 'replace', path: '/list/2', value: 1 }]],
    [409, 'path', 'There is nothing at this place.', [{ op: 'replace', path: '/list/-', value: 1 }]],
    [409, 'path', 'There is nothing at this place.', [{ op: 'add', path: '/list/3', value: 1 }]],
    [409, 'path', 'There is nothing at this place.', [{ op: 'add', path: '/list/01', value: 1 }]],
    [409, 'path', 'There is nothing at this place.', [{ op: 'add', path: '/text/0', value: 1 }]],
    [409, 'path', 'There is nothing at this place.', [{ op: 'add', path: '/text/length', value: 1 }]],
    [409, 'path', 'There is nothing at this place.', [{ op: 'test', path: '/list/length', value: 2 }]],
    [409, 'path', 'There is nothing at this place.', [{ op: 'test', path: '/toString', value: null }]],
    [409, 'path', 'There is nothing at this place.', [{ op: 'test', path: '/__proto__', value: {} }]],
    [409, 'path', 'There is nothing at this place.', [{ op: 'add', path: '/constructor/prototype/x', value: 1 }]],
    [409, 'from', 'There is nothing at this place.', [{ op: 'move', from: '/c', path: '/d' }]],
    [409, 'from', 'There is nothing at this place.', [{ op: 'copy', from: '/a/c', path: '/d' }]],
    [409, 'value', 'The value is another one.', [{ op: 'test', path: '/a', value: { b: '1' } }]],
    [400, 'path', 'The whole cannot be removed.', [{ op: 'remove', path: '' }]],
    [400, 'path', 'Must be a JSON pointer.', [{ op: 'remove', path: 'a' }]],
    [400, 'path', 'Must be a JSON pointer.', [{ op: 'remove', path: '/a~2' }]],
    [400, 'path', 'Must be a JSON pointer.', [{ op: 'remove', path: 5 }]],
    [400, 'path', 'This field is required.', [{ op: 'remove' }]],
    [400, 'from', 'This field is required.', [{ op: 'move', path: '/a' }]],
    [400, 'value', 'This field is required.', [{ op: 'add', path: '/a' }]],
    [400, 'op', 'This field is required.', [{ path: '/a' }]],
    [
      400,
      'op',
      'Unknown operation. Use one of: add, remove, replace, move, copy, test.',
      [{ op: 'toString', path: '' }],
    ],
    [400, 'path', 'A value cannot be moved into itself.', [{ op: 'move', from: '/a', path: '/a/b' }]],
    [400, 'path', 'Nested too deeply: at most 1000 levels.', [{ op: 'add', path: '/a', value: nested(1_000) }]],
    [400, 'non_field_errors', 'Expected an object.', ['add']],
  ])('is %i and names its place, %s: %s', (status, member, message, operations) => {
    const error = errorOf(() => applyPatch(target, [{ op: 'test', path: '/text', value: 'x' }, ...operations]))
    expect([error.status, error.errors]).toEqual([status, { 1: { [member]: [message] } }])
    expect(target).toEqual({ a: { b: 1 }, list: [1, 2], text: 'x' })
  })

  it.each([undefined, null, 5, 'text', {}, { op: 'add' }])('is a document that is no list: %j', (document) => {
    expect(() => applyPatch({}, document)).toThrow(ValidationError)
  })
})

describe('what operations may cost', () => {
  it('ends where copies are more than they may be, however they grow', () => {
    const doubling = Array.from({ length: 60 }, (_, index) => ({ op: 'copy', from: '', path: `/c${index}` }))
    const error = errorOf(() => applyPatch({ text: 'x'.repeat(1000) }, doubling))
    expect([error.status, error.errors]).toEqual([400, { 10: { from: ['Copy at most 1048576 characters.'] } }])
    expect(errorOf(() => applyPatch({ a: 'xxx' }, doubling, { maxCopied: 5 })).errors).toEqual({
      0: { from: ['Copy at most 5 characters.'] },
    })
  })

  it('ends at the number of operations', () => {
    const tests = Array(3).fill({ op: 'test', path: '', value: 1 })
    expect(applyPatch(1, tests, { maxOperations: 3 })).toBe(1)
    expect(errorOf(() => applyPatch(1, tests, { maxOperations: 2 })).errors).toEqual({
      non_field_errors: ['Give at most 2 operations.'],
    })
  })

  it('does not grow the stack, however deep they nest', () => {
    const deep = Array.from({ length: 100 }, (_, index) => ({
      op: 'add',
      path: '/a'.repeat(60 * index + 1),
      value: JSON.parse(`${'{"a":'.repeat(60)}{}${'}'.repeat(60)}`) as unknown,
    }))
    expect(errorOf(() => applyPatch({}, deep)).status).toBe(400)
  })

  it('does not look at what is moved once for each time, however deep something else is', () => {
    const big = Array.from({ length: 3_000 }, () => [])
    let looks = 0
    Object.defineProperty(big, 'map', {
      value: () =>
        new Proxy([...big], {
          ownKeys(target) {
            looks += 1
            return Reflect.ownKeys(target)
          },
        }),
    })
    const moves = Array.from({ length: 50 }, (_, index) => ({ op: 'move', from: `/b${index}`, path: `/b${index + 1}` }))
    const operations = [{ op: 'add', path: '/deep', value: nested(999) }, ...moves]
    expect(applyPatch({ b0: big }, operations)).toHaveProperty('b50')
    expect(looks).toBeLessThan(6)
  })

  it.each([
    [200, true],
    // counted in the square of their length, mistakes in such names hold others up for seconds
    [300, false],
  ])('compares names of %i characters: %j', (length, isCompared) => {
    const operations = [{ op: 'remove', path: `/${'a'.repeat(length - 1)}` }]
    const { errors } = errorOf(() => applyPatch({ ['a'.repeat(length)]: 1 }, operations))
    expect(JSON.stringify(errors).includes('did you mean')).toBe(isCompared)
  })

  it('has options that are numbers', () => {
    for (const options of [{ maxOperations: -1 }, { maxCopied: Number.NaN }, { maxCopied: '5' as never }]) {
      expect(() => applyPatch({}, [], options)).toThrow(ConfigurationError)
    }
    for (const operations of [0, 1.5, Number.NaN]) {
      expect(() => new JsonPatchParser({ operations })).toThrow(ConfigurationError)
    }
  })
})

describe('numbers', () => {
  it.each([
    ['[9007199254740992,9007199254740993]', '[{"op":"remove","path":"/0"}]', '[9007199254740993]'],
    [
      '[9007199254740993]',
      '[{"op":"add","path":"/0","value":9007199254740992}]',
      '[9007199254740992,9007199254740993]',
    ],
    ['{"a":9007199254740993}', '[{"op":"move","from":"/a","path":"/b"}]', '{"b":9007199254740993}'],
    ['{"a":[1e400]}', '[{"op":"copy","from":"/a","path":"/b"}]', '{"a":[1e400],"b":[1e400]}'],
    ['{}', '[{"op":"add","path":"/a","value":0.12345678901234567890}]', '{"a":0.12345678901234567890}'],
    ['9007199254740993', '[{"op":"test","path":"","value":9007199254740993}]', '9007199254740993'],
    ['1000000000000000000000', '[{"op":"test","path":"","value":1e21}]', '1000000000000000000000'],
    [
      '{"a":12345678901234567890}',
      '[{"op":"test","path":"/a","value":1.2345678901234567890e19}]',
      '{"a":12345678901234567890}',
    ],
  ])('keep all digits: %s with %s', (target, patch, expected) => {
    expect(writeJson(applyPatch(parseJson(target), parseJson(patch)))).toBe(expected)
  })

  it.each([
    ['9007199254740993', '9007199254740992'],
    ['9007199254740993', '-9007199254740993'],
    ['0.1234567890123456789', '0.1234567890123456788'],
    ['[9007199254740993]', '[9007199254740992]'],
  ])('are compared by all of them: %s is not %s', (target, value) => {
    const operations = parseJson(`[{"op":"test","path":"","value":${value}}]`)
    expect(errorOf(() => applyPatch(parseJson(target), operations)).status).toBe(409)
  })
})

it('names of prototypes are names', () => {
  const patch: unknown = JSON.parse(
    '[{"op":"add","path":"/__proto__","value":{"polluted":1}},{"op":"add","path":"/constructor","value":{"prototype":{"polluted":1}}}]',
  )
  const result = applyPatch({}, patch)
  expect(JSON.stringify(result)).toBe('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}')
  expect(Object.getPrototypeOf(result)).toBe(Object.prototype)
  expect({}).not.toHaveProperty('polluted')
  expect(JSON.stringify(applyPatch(result, [{ op: 'remove', path: '/__proto__' }]))).not.toContain('__proto__')
})
