/** Messages of an application in place of the package's, by code: the setting `messages`. */

import { DETAILS, type DetailCode } from './details.js'
import { ConfigurationError } from './errors.js'
import { MESSAGES, type MessageCode, type MessageParams } from './messages.js'
import { didYouMean } from './near-miss.js'
import { isRecord } from './records.js'

/**
 * A text in which `{min}` stands for what the package's sentence names, or a function of that.
 * @example ({ min }, ctx) => translate(ctx.get('Accept-Language'), 'min_length', { min })
 */
export type MessageText = string | MessageMaker['make']

/** A method, so that an application may say of `ctx` that it is its own context. */
interface MessageMaker {
  make(params: MessageParams, ctx: unknown): string
}

/** Messages by code. */
export type Messages = Readonly<Partial<Record<MessageCode | DetailCode, MessageText>>>

/** @throws ConfigurationError a code is none of the package's, or a message is neither text nor function */
export function readMessages(value: unknown, where: string): Messages | undefined {
  if (value === undefined) return undefined
  if (!isRecord(value)) {
    throw new ConfigurationError(`${where}: give an object of messages by code`)
  }
  const codes = [...Object.keys(MESSAGES), ...Object.keys(DETAILS)]
  for (const [code, message] of Object.entries(value)) {
    if (!codes.includes(code)) {
      const meant = didYouMean(code, codes) || '; docs/reference/error-codes.md has them all'
      throw new ConfigurationError(`${where} has a message for "${code}", which is no code${meant}`)
    }
    if (message !== undefined && typeof message !== 'function' && typeof message !== 'string') {
      throw new ConfigurationError(`${where}: the message for "${code}" is no text and no function`)
    }
  }
  return value
}
