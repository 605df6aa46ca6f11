/** Modes `random` and `uuid7`: what the column `public_id` holds. */
import type { EncodeContext, IDCodec, IDValue } from './codec.js'
import { refuseWindow } from './encoded-codec.js'

const TEXT = /^[A-Za-z0-9_-]{1,64}$/
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Shows stored ids as they are, and reads what may be one. */
export class StoredCodec implements IDCodec {
  readonly perUser = false
  readonly #isUuid: () => boolean

  /** @param isUuid the ids are UUIDs; asked at each read, because it depends on the catalogue */
  constructor(isUuid: () => boolean) {
    this.#isUuid = isUuid
  }

  encode(value: IDValue, context: EncodeContext): string {
    refuseWindow(context)
    return String(value)
  }

  decode(text: string): string | undefined {
    if (!this.#isUuid()) return TEXT.test(text) ? text : undefined
    return UUID.test(text) ? text.toLowerCase() : undefined
  }
}
