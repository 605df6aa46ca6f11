/** Options of fields keep their literal types, and wrong ones do not compile. Checked by `tsc`, never run. */
import { ArrayField } from '../../lib/fields/array-field.js'
import { ChoiceField, MultipleChoiceField } from '../../lib/fields/choice-fields.js'
import { DateField, DateTimeField } from '../../lib/fields/date-time-fields.js'
import { DecimalField } from '../../lib/fields/decimal-field.js'
import type { SerializerField } from '../../lib/fields/field.js'
import { IntegerField } from '../../lib/fields/integer-fields.js'
import { CurrentUserDefault, HiddenField, ReadOnlyField } from '../../lib/fields/own-value-fields.js'
import { StringField } from '../../lib/fields/string-field.js'

type Equal<Left, Right> = (<T>() => T extends Left ? 1 : 2) extends <T>() => T extends Right ? 1 : 2 ? true : false
type ValueOf<Field> = Field extends SerializerField<infer Value, infer _Options> ? Value : never
type Requires<Field extends SerializerField> = Field['options'] extends { readonly required: false } ? false : true
type HasDefault<Field extends SerializerField> = Field['options'] extends { readonly default: unknown } ? true : false
const is = <_Holds extends true>(): void => undefined

const title = new StringField({ minLength: 2 })
const date = new DateField({ required: false, allowNull: true, default: null })
const status = new ChoiceField({ choices: ['draft', 'open'] })
const tags = new MultipleChoiceField({ choices: ['a', 1] })
const list = new ArrayField({ child: new IntegerField({ allowNull: true }) })
const shown = new ReadOnlyField({ source: 'author.name' })
const owner = new HiddenField({ default: new CurrentUserDefault() })

is<Equal<ValueOf<typeof title>, string>>()
is<Equal<Requires<typeof title>, true>>()
is<Equal<HasDefault<typeof title>, false>>()
is<Equal<Requires<typeof date>, false>>()
is<Equal<HasDefault<typeof date>, true>>()
is<Equal<typeof date.options.allowNull, true>>()
is<Equal<ValueOf<typeof status>, 'draft' | 'open'>>()
is<Equal<ValueOf<typeof tags>, ('a' | 1)[]>>()
is<Equal<ValueOf<typeof list>, (number | null)[]>>()
is<Equal<typeof shown.options.readOnly, true>>()
is<Equal<typeof owner.options.required, false>>()

/** Any field is a SerializerField, whatever its options. */
export const fields: Record<string, SerializerField> = { title, date, status, tags, list, shown, owner }

// @ts-expect-error an option that does not exist
new StringField({ required: false, minLenght: 2 })
// @ts-expect-error an option of another field
new IntegerField({ required: false, maxLength: 2 })
// @ts-expect-error the wrong type of an option
new DecimalField({ maxDigits: '8' })
// @ts-expect-error a size no column has
new IntegerField({ bits: 64 })
// @ts-expect-error choices are needed
new ChoiceField({})
// @ts-expect-error a hidden field needs a default
new HiddenField({ source: 'owner_id' })
// @ts-expect-error a hidden field is never shown
new HiddenField({ default: 1, readOnly: true })
// @ts-expect-error an option that does not exist
new DateTimeField({ format: 'iso' })
