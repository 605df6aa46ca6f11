/** Codes that an application gives its own messages. They travel beside the list that holds the messages, which stays a list of texts. */

import { knownMessage } from './messages.js'

const given = new WeakMap<readonly string[], readonly (string | undefined)[]>()

/** A list of messages that have this code. */
export function withCode(messages: readonly string[], code: string): string[] {
  const list = [...messages]
  given.set(list, Array(list.length).fill(code) as string[])
  return list
}

/** A new list of all messages of these lists, with their codes. */
export function joined(...lists: readonly (readonly string[])[]): string[] {
  const all = lists.flat()
  if (lists.some((list) => given.has(list))) {
    given.set(
      all,
      lists.flatMap((list) => given.get(list) ?? Array<undefined>(list.length).fill(undefined)),
    )
  }
  return all
}

/** The messages before the first that `takes` refuses, with their codes. */
export function firstFew(list: string[], takes: (message: string) => boolean): string[] {
  const end = list.findIndex((message) => !takes(message))
  if (end === -1) return list
  const first = list.slice(0, end)
  const codes = given.get(list)
  if (codes) given.set(first, codes)
  return first
}

/** The code that the application has given a message. */
export function givenCode(messages: readonly string[], index: number): string | undefined {
  return given.get(messages)?.[index]
}

/** The code of each message: the application's, else that of the package's sentence, else `invalid`. */
export function codesOf(messages: readonly string[]): string[] {
  return messages.map((text, index) => givenCode(messages, index) ?? knownMessage(text)?.code ?? 'invalid')
}
