/** Records one usage event for each request of a view. */
import { described, exclusiveTo } from '../../kernel/declarations.js'
import type { MeteringEngine } from '../../metering/engine.js'
import { meterRequest } from '../../metering/meter-request.js'
import { checkMetering, meteringOf } from '../../metering/metering-engine.js'
import type { APIView } from '../api-view.js'
import type { ActionMap, RegisteredRoute } from '../view.js'
import { preparedHandler, type ViewHandler } from '../view-handler.js'

const KINDS = { meteringMeterName: 'any', meteringEnabled: 'boolean', meteringEngine: 'any' } as const
exclusiveTo('MeteringMixin', 'view', KINDS)

/** A class to mix into: any view. */
type AnyView = (new (
  // biome-ignore lint/suspicious/noExplicitAny: TypeScript demands it of a mixin's base
  ...args: any[]
) => APIView) & { asView(actions?: ActionMap, route?: RegisteredRoute): ViewHandler }

/**
 * Counts every request of the view, whatever its outcome: one event for the engine when the response has ended.
 * @example
 * class ReportViewSet extends MeteringMixin(ModelViewSet<Report>) {
 *   static override meteringMeterName = 'reports'
 * }
 */
export function MeteringMixin<Base extends AnyView>(
  base: Base,
): Base & { meteringMeterName: string; meteringEnabled: boolean; meteringEngine: MeteringEngine | null } {
  const mixed = class extends base {
    /** The meter that requests are counted by. @default 'api_usage' */
    static meteringMeterName = 'api_usage'
    /** False counts nothing. @default true */
    static meteringEnabled = true
    /** What takes the events. @default null, the one given to `setMeteringEngine()` */
    static meteringEngine: MeteringEngine | null = null

    static override asView(actions?: ActionMap, route?: RegisteredRoute): ViewHandler {
      const answer = super.asView(actions, route)
      const metered: ViewHandler = async (ctx) => {
        const metering = meteringOf(this)
        if (metering) meterRequest(ctx, metering)
        await answer(ctx)
      }
      // a router of ours has checked it
      return route?.routes ? metered : preparedHandler(metered, async () => checkMetering(this))
    }
  }
  return described(mixed, KINDS)
}
