/** Reasons why a webhook has no answer. */

/** The message is a short sentence that may be shown to whoever the receiver belongs to. */
export class Undeliverable extends Error {
  override readonly name: string = 'Undeliverable'

  /** With the code of an error, but not its message, which may name addresses. */
  static by(problem: string, error: unknown): Undeliverable {
    const code = (error as Partial<NodeJS.ErrnoException> | null)?.code
    return new Undeliverable(typeof code === 'string' ? `${problem} (${code})` : problem, { cause: error })
  }
}
