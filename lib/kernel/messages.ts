/** Validation messages, by the stable code of each sentence (docs/reference/error-codes.md). */

import { quote } from './quote.js'

/** The sentences by code; `{name}` stands for what is another each time. */
export const MESSAGES = {
  ambiguous: ['{value} is the name of more than one object.'],
  blank: ['This field may not be blank.'],
  bound_ordering: ['The start of the range must not exceed the end of the range.'],
  check: ['The values of {fields} do not fit together.'],
  conflict: ['The values of {fields} conflict with another object.'],
  does_not_exist: [
    'Invalid pk {value} - object does not exist.',
    'Object with slug {value} does not exist.',
    'The values of {fields} name no object that exists.',
  ],
  duplicate: ['Invalid pk {value} - listed more than once.', 'Name each only once.', 'Give it only once.'],
  empty_file: ['The file is empty.'],
  exclusive: ['Give either {one} or {other}, not both.', 'Give it in the body or in the URL, not in both.'],
  file_content: ['The content does not match the extension.'],
  file_extension: ['File extension {value} is not allowed.'],
  file_too_large: ['File too large: at most {max} bytes.'],
  filter_group: ['Character {place}: {message}', 'At {place}: {message}'],
  filter_values: [
    'Give two values, separated by a comma.',
    'Give a value before and after each comma.',
    'Give a range, or a single value.',
  ],
  forbidden_key: ['The keys "__proto__", and "constructor" with a "prototype", are not allowed.'],
  invalid: ['Invalid value.'],
  invalid_boolean: ['Must be a valid boolean.', 'Must be true or false.'],
  invalid_choice: ['{value} is not a valid choice.', 'Not a valid choice.'],
  invalid_email: ['Enter a valid email address.'],
  invalid_format: ['Use the format {format}.'],
  invalid_integer: ['A valid integer is required.'],
  invalid_ip_address: ['Enter a valid IP address.'],
  invalid_json: ['Must be valid JSON.'],
  invalid_number: ['A valid number is required.'],
  invalid_string: ['Not a valid string.'],
  invalid_unicode: ['Invalid Unicode.'],
  invalid_url: ['Enter a valid URL.'],
  invalid_uuid: ['Must be a valid UUID.'],
  max_decimal_places: ['Ensure that there are no more than {max} decimal {unit}.'],
  max_digits: ['Ensure that there are no more than {max} {unit} in total.'],
  max_length: ['Ensure this field has no more than {max} {unit}.'],
  max_value: ['Ensure this value is at most {max}.'],
  max_whole_digits: ['Ensure that there are no more than {max} {unit} before the decimal point.'],
  min_interval_part: ['Ensure that there is nothing smaller than one {part}.'],
  min_length: ['Ensure this field has at least {min} {unit}.'],
  min_value: ['Ensure this value is at least {min}.'],
  multiple_of: ['Ensure that this value is a multiple of {step}.'],
  no_file: ['No file uploaded.'],
  not_a_list: ['Expected a list of items.'],
  not_an_object: ['Expected an object.'],
  null: ['This field may not be null.'],
  null_characters: ['Null characters are not allowed.'],
  patch_copies: ['Copy at most {max} {unit}.', 'Make at most {max} {unit}.'],
  patch_element: ['An object of this list cannot be removed.'],
  patch_move: ['A value cannot be moved into itself.'],
  patch_place: ['There is nothing at this place; did you mean {name}?', 'There is nothing at this place.'],
  patch_pointer: ['Must be a JSON pointer.'],
  patch_test: ['The value is another one.'],
  patch_unreadable: ['This field cannot be read.'],
  patch_whole: ['The whole cannot be removed.'],
  query_value: [
    'Ask for what has no value by a lookup: isnull.',
    'Give a text, a number, true, false, or a list of them.',
    'No item of a list may be empty or hold a comma.',
    'Use one of: {names}.',
    'Use true, or leave it out.',
  ],
  read_only: ['This field is read-only.'],
  required: ['This field is required.'],
  send_as_string: ['Send a number of more than {max} digits as a string.', 'Send an integer beyond {max} as a string.'],
  slow_pattern: ['This pattern takes longer than {max} {unit}: make it simpler.'],
  sum_too_large: ['The values are too large to be computed together.'],
  too_deep: ['Nested too deeply: at most {max} levels.', 'Use at most {max} levels of lists.'],
  too_many: ['Give at most {max} {unit}.'],
  too_many_relations: ['A request may follow at most {max} relations.'],
  too_many_objects: ['A request may hold at most {max} nested objects.'],
  too_precise: ['The number is too large or too precise.', 'The number at {place} is too large or too precise.'],
  uneven_lists: [
    'Lists in a list must be of the same kind.',
    'Lists in a list must have the same number of items, and at least one.',
  ],
  unique: ['This field must be unique.'],
  unique_together: ['The fields {fields} must make a unique set.'],
  unknown_field: ['Unknown field; did you mean {name}?', 'Unknown field. Use one of: {names}.', 'Unknown field.'],
  unknown_argument: [
    'Unknown argument; did you mean {name}?',
    'Unknown argument; there are {names}.',
    'Unknown argument.',
  ],
  unknown_lookup: ['Unknown lookup; did you mean {name}?', 'Unknown lookup. Use one of: {names}.', 'Unknown lookup.'],
  unknown_name: ['Unknown name; did you mean {name}?', 'Unknown name. Use {names}.', 'Unknown name.'],
  unknown_operation: ['Unknown operation; did you mean {name}?', 'Unknown operation. Use one of: {names}.'],
  unknown_parameter: [
    'Unknown parameter. Use {names}.',
    'Unknown parameter; did you mean {name}?',
    'Unknown parameter.',
    'Unknown member. Use {names}.',
    'Unknown member; did you mean {name}?',
    'Unknown member.',
    'Unknown filter. Use {names}.',
    'Unknown filter; did you mean {name}?',
    'Unknown filter.',
  ],
} as const satisfies Record<string, readonly string[]>

/** The code of a sentence of the package. */
export type MessageCode = keyof typeof MESSAGES

/** What a sentence names, as it stands there; whole numbers are numbers up to 15 digits. */
export type MessageParams = Readonly<Record<string, string | number>>

/** A sentence of the package. */
export interface KnownMessage<Code extends string = MessageCode> {
  readonly code: Code
  readonly params: MessageParams
}

/** Characters of the longest text that is looked up: none of ours is as long. */
const LONGEST = 4_096

const PLACE = /\{(\w+)\}/g
const NO_PARAMS: MessageParams = {}

/** Numbers and their units are words; all else may have spaces. */
function placePattern(_place: string, name: string): string {
  return `(?<${name}>${/^(?:max|min|step|unit)$/.test(name) ? '\\S+' : '.+'})`
}

interface Shape<Code> {
  readonly code: Code
  readonly start: string
  readonly pattern: RegExp
}

/** Finds a sentence of a table by its text; undefined for a text that is none of them. */
export function sentencesOf<Code extends string>(
  table: Readonly<Record<Code, readonly string[]>>,
): (text: string) => KnownMessage<Code> | undefined {
  const whole = new Map<string, KnownMessage<Code>>()
  const shapes: Shape<Code>[] = []
  for (const [code, sentences] of Object.entries(table) as [Code, readonly string[]][]) {
    for (const sentence of sentences) {
      if (!sentence.includes('{')) {
        whole.set(sentence, { code, params: NO_PARAMS })
        continue
      }
      const escaped = sentence.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(PLACE, placePattern)
      shapes.push({ code, start: sentence.slice(0, sentence.indexOf('{')), pattern: new RegExp(`^${escaped}$`, 's') })
    }
  }
  return (text) => {
    const known = whole.get(text)
    if (known || text.length > LONGEST) return known
    for (const { code, start, pattern } of shapes) {
      const groups = text.startsWith(start) ? pattern.exec(text)?.groups : undefined
      if (groups) return { code, params: paramsOf(groups) }
    }
    return undefined
  }
}

/** The code and parameters of a message; undefined for a text that is none of the package's sentences. */
export const knownMessage = sentencesOf<MessageCode>(MESSAGES)

function paramsOf(groups: Readonly<Record<string, string>>): MessageParams {
  return Object.fromEntries(
    Object.entries(groups).map(([name, text]) => [name, /^-?\d{1,15}$/.test(text) ? Number(text) : text]),
  )
}

/** A template with its places filled. */
export function filled(template: string, params: MessageParams): string {
  return template.replace(PLACE, (place, name: string) => (Object.hasOwn(params, name) ? String(params[name]) : place))
}

/** Says of a key that it names no object. */
export function noObject(key: unknown): string {
  return filled(MESSAGES.does_not_exist[0], { value: quoteKey(key) })
}

/** Says of a key that a list names its object twice. */
export function namedTwice(key: unknown): string {
  return filled(MESSAGES.duplicate[0], { value: quoteKey(key) })
}

/** Numbers stand as texts have them. */
function quoteKey(key: unknown): string {
  return quote(typeof key === 'number' || typeof key === 'bigint' ? String(key) : key)
}

/** Says of two fields that an input has one of them. */
export function notBoth(one: string, other: string): string {
  return filled(MESSAGES.exclusive[0], { one, other })
}
