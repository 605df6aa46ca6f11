/** With TRACED=1 somebody listens to each channel, so that all requests of a run go the way of those that are traced. */
import { tracingChannels } from 'koa-viewsets/tracing'

const hear = () => {}
for (const channel of Object.values(tracingChannels)) {
  channel.subscribe({ start: hear, end: hear, asyncStart: hear, asyncEnd: hear, error: hear })
}
