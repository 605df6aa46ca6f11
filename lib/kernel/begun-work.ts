/** Work that code of the application's begins, and may forget to wait for. */

const begun = new WeakMap<object, Promise<unknown>[]>()

/** Remembers work on an object, where somebody waits for all that is begun on it. */
export function begin<Result>(object: object, work: Promise<Result>): Promise<Result> {
  begun.get(object)?.push(work)
  // whoever waits for all of it gets the error
  if (begun.has(object)) work.catch(() => undefined)
  return work
}

/** Runs code of the application's, and waits for all that it has begun on an object, whether or not the code does. */
export async function waitingFor(object: object, code: () => Promise<unknown>): Promise<void> {
  const works: Promise<unknown>[] = []
  begun.set(object, works)
  try {
    await code()
    await Promise.all(works)
  } finally {
    begun.delete(object)
  }
}
