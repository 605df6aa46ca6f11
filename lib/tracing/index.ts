/** The door `koa-viewsets/tracing`: the channels that tell of requests, and what their events hold. */
export type {
  AnswerTrace,
  DispatchTrace,
  PolicyTrace,
  SqlTrace,
  TracedRequest,
  TraceEvent,
} from '../kernel/trace-channels.js'
export { CHANNELS as tracingChannels } from '../kernel/trace-channels.js'
