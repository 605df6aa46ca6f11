import { describe, expect, test } from 'vitest'
import { ArrayField } from '../../../lib/fields/array-field.js'
import { BinaryField } from '../../../lib/fields/binary-field.js'
import { BooleanField } from '../../../lib/fields/boolean-field.js'
import { ChoiceField, MultipleChoiceField } from '../../../lib/fields/choice-fields.js'
import { DateField, DateTimeField, DurationField, TimeField } from '../../../lib/fields/date-time-fields.js'
import { DecimalField } from '../../../lib/fields/decimal-field.js'
import type { SerializerField } from '../../../lib/fields/field.js'
import { FloatField } from '../../../lib/fields/float-field.js'
import { EmailField, IPAddressField, URLField, UUIDField } from '../../../lib/fields/formatted-text-fields.js'
import { BigIntegerField, IntegerField } from '../../../lib/fields/integer-fields.js'
import { StringField } from '../../../lib/fields/string-field.js'
import { refusal } from './refusal.js'

const VALUES: Record<string, unknown> = {
  string: 'x',
  'empty string': '',
  number: 1.5,
  true: true,
  false: false,
  array: [],
  nested: [[1]],
  object: {},
  'object with toString': { toString: 'x', length: 3 },
}

const KINDS: [kind: string, field: SerializerField, accepted: string[], message: string | RegExp][] = [
  ['StringField', new StringField(), ['string', 'empty string'], 'Not a valid string.'],
  ['EmailField', new EmailField(), [], /^(Not a valid string|Enter a valid email address)\.$/],
  ['URLField', new URLField(), [], /^(Not a valid string|Enter a valid URL)\.$/],
  ['UUIDField', new UUIDField(), [], 'Must be a valid UUID.'],
  ['IPAddressField', new IPAddressField(), [], 'Enter a valid IP address.'],
  ['IntegerField', new IntegerField(), [], 'A valid integer is required.'],
  ['BigIntegerField', new BigIntegerField(), [], 'A valid integer is required.'],
  ['FloatField', new FloatField(), ['number'], 'A valid number is required.'],
  ['DecimalField', new DecimalField(), ['number'], 'A valid number is required.'],
  ['BooleanField', new BooleanField(), ['true', 'false'], 'Must be a valid boolean.'],
  ['DateTimeField', new DateTimeField(), [], 'Use the format YYYY-MM-DDTHH:MM:SS[.ffffff][Z|±HH:MM].'],
  ['DateField', new DateField(), [], 'Use the format YYYY-MM-DD.'],
  ['TimeField', new TimeField(), [], 'Use the format HH:MM:SS[.ffffff].'],
  ['DurationField', new DurationField(), [], 'Use the format PnYnMnDTnHnMnS.'],
  ['ChoiceField', new ChoiceField({ choices: ['a', 'b'] }), [], / is not a valid choice\.$/],
  [
    'MultipleChoiceField',
    new MultipleChoiceField({ choices: ['a'] }),
    ['array'],
    /^Expected a list of items\.$|choice\.$/,
  ],
  [
    'ArrayField',
    new ArrayField({ child: new ArrayField({ child: new IntegerField() }) }),
    ['array', 'nested'],
    'Expected a list of items.',
  ],
  ['BinaryField', new BinaryField(), [], 'Use the format \\x followed by two hexadecimal digits for each byte.'],
]

describe.each(KINDS)('[B13] %s', (_kind, field, accepted, message) => {
  const refused = Object.keys(VALUES).filter((type) => !accepted.includes(type))

  test.each(refused)('refuses a JSON %s', async (type) => {
    const messages = await refusal(field, VALUES[type])
    expect(messages).toEqual([typeof message === 'string' ? message : expect.stringMatching(message)])
  })
})
