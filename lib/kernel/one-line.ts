/** Text that others may have written, for a warning: on one line, whatever it holds (promise I17). */

/** What JSON leaves as it is: DEL, the controls of ISO 8859, and the separators of lines and paragraphs. */
const CONTROLS = /[\u007f-\u009f\u2028\u2029]/g

/** The text as JSON writes it, without the quotes and with all control characters escaped. */
export function oneLine(text: string): string {
  return escapeControls(JSON.stringify(text).slice(1, -1))
}

/** A JSON text with the control characters escaped that JSON may hold. */
export function escapeControls(json: string): string {
  return json.replaceAll(CONTROLS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
