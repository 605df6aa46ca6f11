/** Texts of others in messages: JSON-encoded, on one line, and short (promise I17). */
import { inspect } from 'node:util'
import { isError } from './realms.js'

/** The value as JSON text of at most 64 characters, quotes included; as Node writes it where JSON has no text for it. */
export function quote(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(cut(value, 62))
  const text = (typeof value === 'number' ? undefined : jsonOf(value)) ?? String(value)
  // the source of a function has lines
  return cut(text.replaceAll(/\n\s*/g, ' '), 64)
}

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    // a circle, or a bigint
    return typeof value === 'object' ? inspect(value, { breakLength: Number.POSITIVE_INFINITY }) : undefined
  }
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : text.slice(0, length).toWellFormed()
}

/** What JSON leaves as it is: DEL, the controls of ISO 8859, and the separators of lines and paragraphs. */
const CONTROLS = /[\u007f-\u009f\u2028\u2029]/g

/** The text as JSON writes it, without the quotes and with all control characters escaped. */
export function oneLine(text: string): string {
  return escapeControls(JSON.stringify(text).slice(1, -1))
}

/** An error by name and message, on one line. */
export function errorLine(error: unknown): string {
  return oneLine(told(error, ({ name, message }) => `${name}: ${message}`))
}

/** The message of an error, or the text of what else was thrown. */
export function messageOf(error: unknown): string {
  return told(error, ({ message }) => String(message))
}

/** It never throws: background work tells of its errors so. */
function told(error: unknown, tell: (error: Error) => string): string {
  try {
    return isError(error) ? tell(error) : String(error)
  } catch {
    return 'an error without a text'
  }
}

/** A JSON text with the control characters escaped that JSON may hold. */
export function escapeControls(json: string): string {
  return json.replaceAll(CONTROLS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
