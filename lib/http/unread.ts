/** Answers to HEAD for which nothing was read. */
import { RequestSlot } from './context.js'

/** Set where nobody knows how long the answer to GET would be: no length is told then (RFC 9110 section 8.6). */
export const UNREAD = new RequestSlot<true>('GET would read what HEAD has not')
