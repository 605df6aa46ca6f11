/** The door `koa-viewsets/tracing`: the channels that tell of requests, and what their events hold. */
export type {
  AnswerTrace,
  DispatchTrace,
  EventChannel,
  PolicyTrace,
  SqlTrace,
  StepChannels,
  StepListeners,
  TracedRequest,
  TraceEvent,
  TraceListener,
} from '../kernel/trace-channels.js'
export { CHANNELS as tracingChannels } from '../kernel/trace-channels.js'
