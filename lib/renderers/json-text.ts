/** JSON that is written already. */

/** Text that stands in an answer as it is. To everything but the JSON renderer it is the value it spells. */
export class JsonText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  toJSON(): unknown {
    return JSON.parse(this.text)
  }
}
