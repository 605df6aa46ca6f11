/** Asks an issuer for its keys (RFC 7517 section 5), bounded in time and size. */

/** What an answer may cost. */
export interface FetchLimits {
  /** For the whole answer. */
  readonly timeoutSeconds: number
  readonly maxBytes: number
}

/** A hundred keys are more than issuers have; each is read at the price of a public key. */
const MOST_KEYS = 100

/**
 * The entries of a key set, unread. Redirects are not followed: keys come from the configured address only.
 * @throws {Error} the issuer is away or late, or answers anything but a key set; the message is for the log
 */
export async function fetchKeySet(uri: string, limits: FetchLimits): Promise<readonly unknown[]> {
  const signal = AbortSignal.timeout(limits.timeoutSeconds * 1000)
  const response = await fetch(uri, {
    redirect: 'manual',
    signal,
    headers: { Accept: 'application/jwk-set+json, application/json' },
  })
  if (response.status !== 200) {
    await response.body?.cancel()
    const isRedirect = response.status >= 300 && response.status < 400
    throw new Error(`it answered ${response.status}${isRedirect ? '; redirects are not followed' : ''}`)
  }
  const entries = entriesOf(await readText(response, limits.maxBytes))
  if (entries === undefined) throw new Error('its answer is no JSON Web Key Set')
  if (entries.length > MOST_KEYS) throw new Error(`its answer has more than ${MOST_KEYS} keys`)
  return entries
}

/** @throws {Error} the answer is longer, counted after decompression */
async function readText({ body }: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  // leaving the loop ends the request
  for await (const chunk of body ?? []) {
    size += (chunk as Uint8Array).byteLength
    if (size > maxBytes) throw new Error(`its answer is longer than ${maxBytes} bytes`)
    chunks.push(chunk as Uint8Array)
  }
  return Buffer.concat(chunks).toString()
}

function entriesOf(text: string): readonly unknown[] | undefined {
  try {
    const { keys } = JSON.parse(text) as { readonly keys?: unknown }
    return Array.isArray(keys) ? keys : undefined
  } catch {
    return undefined
  }
}
