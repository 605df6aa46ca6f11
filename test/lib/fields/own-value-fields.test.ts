import { expect, test } from 'vitest'
import { CurrentUserDefault, HiddenField } from '../../../lib/fields/own-value-fields.js'
import { ConfigurationError } from '../../../lib/kernel/errors.js'

test('[A2] a HiddenField is not shown and needs no input', () => {
  const field = new HiddenField({ default: 5, source: 'owner_id' })
  expect(field).toMatchObject({ hidden: true, writeOnly: true, required: false, readOnly: false })
  expect(field.options).toMatchObject({ default: 5, source: 'owner_id' })
})

test('a HiddenField without a default is a mistake', () => {
  expect(() => new HiddenField({ default: undefined })).toThrow(new ConfigurationError('HiddenField: give a default'))
})

test.each([
  [{ user: { id: 7 } }, 7],
  [{ user: { id: 'u-1' } }, 'u-1'],
  [{ user: { id: 7, isAnonymous: true } }, undefined],
  [{ user: null }, undefined],
  [{}, undefined],
])('CurrentUserDefault in %j is %j', (context, id) => {
  expect(new CurrentUserDefault().resolve(context)).toBe(id)
})
