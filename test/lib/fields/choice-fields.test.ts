import { Model } from 'objection'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { BooleanField } from '../../../lib/fields/boolean-field.js'
import { ChoiceField, MultipleChoiceField } from '../../../lib/fields/choice-fields.js'
import { SerializerField } from '../../../lib/fields/field.js'
import { fieldForColumn } from '../../../lib/fields/field-for-column.js'
import { ConfigurationError } from '../../../lib/kernel/errors.js'
import { keepText } from '../../../lib/models/database-text.js'
import { describeModel } from '../../../lib/models/describe-model.js'
import type { Column } from '../../../lib/models/model-description.js'
import { refusal, shown, textRefusal } from './refusal.js'

describe('ChoiceField', () => {
  const field = new ChoiceField({ choices: ['draft', 'open', 1, '2'] })

  test('takes its choices, of their type', () => {
    expect(['draft', 'open', 1, '2'].map((value) => field.toInternalValue(value))).toEqual(['draft', 'open', 1, '2'])
  })

  test.each([
    ['x', '"x" is not a valid choice.'],
    ['1', '"1" is not a valid choice.'],
    [2, '2 is not a valid choice.'],
    ['Draft', '"Draft" is not a valid choice.'],
    ['toString', '"toString" is not a valid choice.'],
    [true, 'true is not a valid choice.'],
    [['draft'], '["draft"] is not a valid choice.'],
    [{ a: 1 }, '{"a":1} is not a valid choice.'],
    ['a"\n', '"a\\"\\n" is not a valid choice.'],
  ])('[B16] refuses %j', async (value, message) => {
    expect(await refusal(field, value)).toEqual([message])
  })

  test('shows intervals and infinities as they are chosen, which a driver reads as objects and numbers', () => {
    const readInterval = pg.types.getTypeParser(1186, 'text') as unknown as (text: string) => unknown
    const period = new ChoiceField({ choices: ['P1M', 'PT24H', 'infinity'] })
    expect(shown(period, readInterval('1 mon'))).toBe('P1M')
    expect(shown(period, readInterval('24:00:00'))).toBe('PT24H')
    expect(shown(period, readInterval('2 days'))).toBe('P2D')
    expect(shown(new ChoiceField({ choices: ['2026-03-28', 'infinity'] }), Number.POSITIVE_INFINITY)).toBe('infinity')
    expect(shown(new MultipleChoiceField({ choices: ['P1M'] }), [readInterval('1 mon')])).toEqual(['P1M'])
  })

  test('shows days and points in time as they are chosen, which a driver reads as a Date', () => {
    const day = new ChoiceField({ choices: ['2026-03-28'] })
    expect(shown(day, keepText(new Date(2026, 2, 28), '2026-03-28'))).toBe('2026-03-28')
    const moment = new ChoiceField({ choices: ['2026-03-28T15:30:00.5Z'] })
    expect(shown(moment, new Date('2026-03-28T15:30:00.500Z'))).toBe('2026-03-28T15:30:00.5Z')
  })

  test("has the texts and numbers that a model's schema lists; other values are the model's own to check", () => {
    class Draft extends Model {
      static override tableName = 'drafts'
      static override jsonSchema = {
        properties: {
          open: { type: 'boolean', enum: [true] },
          meta: { enum: [{ a: 1 }, 'b'] },
          state: { enum: ['a', null] },
        },
      }
    }
    const { columns } = describeModel(Draft)
    const fields = ['open', 'meta', 'state'].map((name) => fieldForColumn(columns.get(name) as Column, {}))
    expect(fields.map((field) => field.constructor)).toEqual([BooleanField, SerializerField, ChoiceField])
    expect(fields[2]?.schema()).toEqual({ type: 'string', enum: ['a'] })
  })

  test('repeats at most 64 characters of a rejected value', async () => {
    for (const value of ['x'.repeat(1000), '𝒳'.repeat(1000), ['x'.repeat(1000)]]) {
      const [message] = (await refusal(field, value)) as string[]
      expect(message?.length).toBeLessThanOrEqual(64 + ' is not a valid choice.'.length)
    }
  })

  test('reads a text as the choice that looks like it', async () => {
    expect(['draft', '1', '2'].map((text) => field.fromText(text))).toEqual(['draft', 1, '2'])
    expect(new ChoiceField({ choices: ['1', 1] }).fromText('1')).toBe('1')
    expect(new ChoiceField({ choices: [1, '1'] }).fromText('1')).toBe('1')
    expect(await textRefusal(field, 'x')).toEqual(['"x" is not a valid choice.'])
  })

  test('describes itself', () => {
    expect(field.schema()).toEqual({ type: ['string', 'number'], enum: ['draft', 'open', 1, '2'] })
    expect(new ChoiceField({ choices: ['a'] }).schema()).toEqual({ type: 'string', enum: ['a'] })
  })

  test('refuses a default that is none of them, unless a field of its own stores something else', () => {
    const choices = ['a', 1]
    for (const given of ['b', '1', true]) {
      expect(() => new ChoiceField({ choices, default: given })).toThrow(
        new ConfigurationError(
          `ChoiceField: default ${JSON.stringify(given)} is none of its choices; give one of them`,
        ),
      )
    }
    expect(() => new MultipleChoiceField({ choices, default: ['a', 'b'] })).toThrow('default "b" is none of its')
    for (const given of ['a', 1, null, () => 'b', { resolve: () => 'b' }]) new ChoiceField({ choices, default: given })
    ;new (class Coded extends ChoiceField {
      override toInternalValue(value: unknown) {
        return `stored ${String(super.toInternalValue(value))}`
      }
    })({ choices, default: 'stored a' })
  })

  test('refuses an empty list of choices', () => {
    expect(() => new ChoiceField({ choices: [] })).toThrow(
      new ConfigurationError('ChoiceField: choices is empty; give at least one value'),
    )
  })
})

describe('MultipleChoiceField', () => {
  const field = new MultipleChoiceField({ choices: ['a', 'b', 3] })

  test('removes duplicates before validation', () => {
    expect(field.toInternalValue(['b', 'a', 'b', 3, 'b'])).toEqual(['b', 'a', 3])
    expect(field.toInternalValue([])).toEqual([])
  })

  test.each([
    [['a', 'x'], '"x" is not a valid choice.'],
    [[null], 'null is not a valid choice.'],
    [[['a']], '["a"] is not a valid choice.'],
    ['a', 'Expected a list of items.'],
    [{ 0: 'a' }, 'Expected a list of items.'],
  ])('refuses %j', async (value, message) => {
    expect(await refusal(field, value)).toEqual([message])
  })

  test('reads a JSON array from text', async () => {
    expect(field.fromText('["a",3]')).toEqual(['a', 3])
    expect(await textRefusal(field, 'a,b')).toEqual(['Must be valid JSON.'])
    expect(await textRefusal(field, '"a"')).toEqual(['Expected a list of items.'])
  })

  test('describes itself', () => {
    expect(field.schema()).toEqual({
      type: 'array',
      items: { type: ['string', 'number'], enum: ['a', 'b', 3] },
    })
  })
})
