/** Certificates that a test makes, of host names (X.509 as RFC 5280 has it, in DER). */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'

const SEQUENCE = 0x30
const ECDSA_WITH_SHA256 = der(SEQUENCE, Buffer.from('06082a8648ce3d040302', 'hex'))
const SUBJECT_ALT_NAME = Buffer.from('0603551d11', 'hex')
/** Valid for as long as a UTCTime may say. */
const VALIDITY = der(SEQUENCE, der(0x17, '200101000000Z'), der(0x17, '491231235959Z'))

/** A certificate that nobody but itself vouches for, and its key, in PEM. */
export function selfSigned(...hosts: readonly string[]): { cert: string; key: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const names = der(SEQUENCE, ...hosts.map((host) => der(0x82, host)))
  const extensions = der(0xa3, der(SEQUENCE, der(SEQUENCE, SUBJECT_ALT_NAME, der(0x04, names))))
  // a name of its own, so that one is not taken for another's issuer
  const name = der(SEQUENCE, der(0x31, der(SEQUENCE, Buffer.from('0603550403', 'hex'), der(0x0c, hosts.join(' ')))))
  const content = der(
    SEQUENCE,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ECDSA_WITH_SHA256,
    name,
    VALIDITY,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    extensions,
  )
  const signature = sign('sha256', content, privateKey)
  const whole = der(SEQUENCE, content, ECDSA_WITH_SHA256, der(0x03, Buffer.from([0]), signature))
  const lines = whole.toString('base64').replace(/.{64}/g, '$&\n')
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

function der(tag: number, ...parts: readonly (Buffer | string)[]): Buffer {
  const content = Buffer.concat(parts.map((part) => Buffer.from(part as string)))
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}
