/** Listens to the channels of a request until a test ends. */
import { inspect } from 'node:util'
import { type StepChannels, type TraceEvent, tracingChannels } from 'koa-viewsets/tracing'
import { onTestFinished } from 'vitest'

export type ChannelName = keyof typeof tracingChannels

export interface Heard {
  readonly channel: ChannelName
  readonly phase: 'start' | 'end' | 'asyncStart' | 'asyncEnd' | 'error'
  readonly event: TraceEvent & Record<string, unknown>
}

const PHASES = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'] as const

/** All that is published from now on, by these channels. */
export function listen(...names: readonly ChannelName[]): Heard[] {
  const heard: Heard[] = []
  for (const channel of names.length > 0 ? names : (Object.keys(tracingChannels) as ChannelName[])) {
    const handlers = Object.fromEntries(
      PHASES.map((phase) => [phase, (event: unknown) => void heard.push({ channel, phase, event: event as never })]),
    )
    const traced: StepChannels = tracingChannels[channel]
    traced.subscribe(handlers)
    onTestFinished(() => void traced.unsubscribe(handlers))
  }
  return heard
}

/** Beginnings and ends in order: `dispatch( authentication( authentication) … dispatch)`. */
export function orderOf(heard: readonly Heard[]): string {
  const words = heard.flatMap(({ channel, phase }) => {
    if (phase === 'start') return `${channel}(`
    if (phase === 'error') return `${channel}!`
    return phase === 'asyncEnd' ? `${channel})` : []
  })
  return words.join(' ')
}

/** Everything that events hold but what was thrown, as a text to look for values in. */
export function textOf(heard: readonly Heard[]): string {
  const shown = heard.map(({ event: { request, ...event } }) => {
    const { error: _error, ...rest } = event
    const { method, route, name, view, action } = request ?? {}
    return { ...rest, request, names: { method, route, name, view, action } }
  })
  return inspect(shown, { depth: 9, showHidden: true, maxArrayLength: null, maxStringLength: null })
}
