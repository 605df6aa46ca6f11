/** The HTTP methods that are answered, and what HTTP says of each (RFC 9110 section 9, RFC 10008): sets of methods are made of this table. */

interface Method {
  /** In upper case. */
  readonly name: string
  /** What it may do to what there is; one that reads is safe. */
  readonly does: 'read' | 'write' | 'delete'
  /** Its requests have content; that of `DELETE` means nothing by itself. */
  readonly hasContent: boolean
  /** To send it again changes nothing more (section 9.2.2). */
  readonly isIdempotent: boolean
}

const reading = { does: 'read', hasContent: false, isIdempotent: true } as const
const writing = { does: 'write', hasContent: true, isIdempotent: false } as const

const OF_ACTIONS = {
  get: reading,
  query: { ...reading, hasContent: true },
  post: writing,
  put: { ...writing, isIdempotent: true },
  patch: writing,
  delete: { does: 'delete', hasContent: false, isIdempotent: true },
} as const satisfies Record<string, Omit<Method, 'name'>>

/** A method that actions answer, in lower case. */
export type ActionMethod = keyof typeof OF_ACTIONS

/** The methods that actions answer, in the order in which `Allow` lists them. */
export const METHODS = Object.keys(OF_ACTIONS) as readonly ActionMethod[]

/** All methods, in the order in which `Allow` lists them. `TRACE` is none of ours. */
export const ALL_METHODS: readonly Method[] = [
  ...METHODS.map((name) => ({ name: name.toUpperCase(), ...OF_ACTIONS[name] })),
  { name: 'HEAD', ...reading },
  { name: 'OPTIONS', ...reading },
]
