/** The signature of an id: `mac(key, 'id/v1', …)` of the wire format, made for short strings by the hundred. */
import { Hmac } from '../kernel/hmac.js'
import { derive } from '../kernel/signing.js'

/** Signs for one key and table. */
export class Signer {
  readonly #hmac: Hmac
  readonly #length: number

  /** @param bytes of the signature, 8 to 32 */
  constructor(secret: string, table: string, bytes: number) {
    this.#hmac = new Hmac(derive(secret, 'id/v1'), netstring(table))
    this.#length = bytes * 2
  }

  /** @param user the user's id; undefined where ids are for everybody */
  sign(text: string, user: string | undefined): string {
    const parts = user === undefined ? netstring(text) : `${netstring(text)}4:user,${netstring(user)}`
    return this.#hmac.hex(parts).slice(0, this.#length)
  }
}

function netstring(text: string): string {
  return `${Buffer.byteLength(text)}:${text},`
}
