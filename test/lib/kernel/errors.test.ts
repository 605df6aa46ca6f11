import { describe, expect, it } from 'vitest'
import { runValidators } from '../../../lib/fields/run-validators.js'
import { ApiError, ConfigurationError, ValidationError } from '../../../lib/index.js'
import { boundedErrors, countMessages } from '../../../lib/kernel/errors.js'
import { codesOf } from '../../../lib/kernel/given-codes.js'

describe('a ValidationError', () => {
  it.each([
    ['too short', { non_field_errors: ['too short'] }],
    [['one', 'two'], { non_field_errors: ['one', 'two'] }],
    [{ title: 'too short' }, { title: ['too short'] }],
    [
      { title: ['one', 'two'], n: 'no' },
      { title: ['one', 'two'], n: ['no'] },
    ],
    [{ author: { name: 'no', books: { 0: 'no' } } }, { author: { name: ['no'], books: { 0: ['no'] } } }],
    [{}, {}],
  ])('of %j holds lists of messages', (given, errors) => {
    expect(new ValidationError(given).errors).toEqual(errors)
  })

  // what JavaScript gives
  it.each<[unknown, object]>([
    [{ books: [{ title: 'no' }, {}, undefined, { n: ['no'] }] }, { books: { 0: { title: ['no'] }, 3: { n: ['no'] } } }],
    [[{ title: ['no'] }, 'no'], { 0: { title: ['no'] }, 1: ['no'] }],
    [{ a: [['no']] }, { a: { 0: ['no'] } }],
    [{ a: undefined, b: null, c: 'no' }, { c: ['no'] }],
  ])('of %j holds those of items by their positions, and nothing of what is missing', (given, errors) => {
    for (const code of ['invalid', 'taken']) {
      const error = new ValidationError(given as string, { code })
      expect(error.errors).toEqual(errors)
      expect(countMessages(error.errors)).toBe(JSON.stringify(errors).split('"no"').length - 1)
    }
    expect(new ApiError(409, 'no', { errors: given as {} }).errors).toEqual(errors)
  })

  it.each([
    [5, '5'],
    [undefined, 'undefined'],
    [{ a: true }, 'true'],
    [{ a: ['no', 5] }, '5'],
    [{ a: new TypeError('secret') }, '"TypeError"'],
    [new Map([['a', 'no']]), '"Map"'],
    [{ a: new Set(['no']) }, '"Set"'],
  ])('of %s is a mistake that says so', (given, told) => {
    const message = `errors hold ${told}; give texts, lists of them, or either by the names of fields`
    expect(() => new ValidationError(given as unknown as string)).toThrow(new ConfigurationError(message))
  })
})

it.each([undefined, null, 5, { why: 'no' }])('an ApiError whose detail is %j is a mistake that says so', (detail) => {
  const message = `ApiError: detail is ${JSON.stringify(detail)}; give a text`
  expect(() => new ApiError(400, detail as unknown as string)).toThrow(new ConfigurationError(message))
})

describe('bounded errors', () => {
  it('are those there were where they are few', () => {
    const { errors } = new ValidationError({ a: { 0: { b: ['no'] } }, c: [] })
    expect(boundedErrors(errors)).toBe(errors)
  })

  it('are the first ones, in their places, with their codes', () => {
    const { errors } = new ValidationError(
      { a: { 0: Array(400).fill('x') }, b: Array(400).fill('y'), c: 'z' },
      { code: 'taken' },
    )
    const { a, b, ...others } = boundedErrors(errors)
    expect([a, others]).toEqual([errors['a'], {}])
    expect(b).toEqual(Array(100).fill('y'))
    expect(codesOf(b as string[])).toEqual(Array(100).fill('taken'))
    expect(boundedErrors({ [`${'n'.repeat(40_000)}`]: ['x'], a: ['y'.repeat(40_000)], b: ['z'] })).toEqual({
      ['n'.repeat(40_000)]: ['x'],
    })
  })
})

describe('the validators of a field', () => {
  const refusing = (errors: ConstructorParameters<typeof ValidationError>[0]) => async () => {
    throw new ValidationError(errors)
  }
  const all = (...given: ConstructorParameters<typeof ValidationError>[0][]) =>
    runValidators(given.map(refusing), 'x', {}).catch((error: ValidationError) => error.messages)

  it('are all heard', async () => {
    expect(await all('one', ['two', 'three'])).toEqual(['one', 'two', 'three'])
    expect(await all({ a: 'one' }, { a: 'two', b: 'three' })).toEqual({ a: ['one', 'two'], b: ['three'] })
    expect(await all('one')).toEqual(['one'])
    expect(await all()).toBe('x')
  })

  it('stop at what is no refusal', async () => {
    const broken = () => {
      throw new TypeError('broken')
    }
    await expect(runValidators([refusing('no'), broken], 'x', {})).rejects.toThrow('broken')
  })
})
