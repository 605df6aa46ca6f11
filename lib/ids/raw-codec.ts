/** Mode `raw`: the decimal digits of the key. */
import type { EncodeContext, IDCodec, IDValue } from './codec.js'
import { refuseWindow } from './encoded-codec.js'
import { readInteger, toInteger, toStored } from './integers.js'

/** Writes keys in decimal. */
export class RawCodec implements IDCodec {
  readonly perUser = false

  encode(value: IDValue, context: EncodeContext): string {
    refuseWindow(context)
    return String(toInteger(value))
  }

  decode(text: string): number | string | undefined {
    const integer = readInteger(text)
    return integer === undefined ? undefined : toStored(integer)
  }
}
