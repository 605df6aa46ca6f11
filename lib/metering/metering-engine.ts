/** The metering engine of a request: the view's or the plugin's own, else the one that was set for all. */
import { ConfigurationError } from '../kernel/errors.js'
import { checkKinds } from '../kernel/option-kinds.js'
import type { MeteringEngine } from './engine.js'
import type { Metering } from './meter-request.js'

/** How a view class is metered (`MeteringMixin`). */
export interface MeteredClass {
  readonly name: string
  readonly meteringMeterName: string
  readonly meteringEnabled: boolean
  readonly meteringEngine: MeteringEngine | null
}

/** Options of `metering()`. */
export interface MeteringOptions {
  /** The engine. @default the one given to `setMeteringEngine()` */
  readonly engine?: MeteringEngine
  /** The name of the meter. @default 'api_usage' */
  readonly meterName?: string
}

let common: MeteringEngine | null = null

/**
 * Sets the engine of all views and routes that name none of their own; null takes it away.
 * @throws {ConfigurationError} it is no engine
 */
export function setMeteringEngine(engine: MeteringEngine | null): void {
  if (engine !== null) checkEngine('setMeteringEngine()', engine)
  common = engine
}

/** @throws {ConfigurationError} it cannot record anything, and usage would be lost */
function checkEngine(where: string, engine: MeteringEngine): void {
  if (typeof (engine as Partial<MeteringEngine> | undefined)?.record === 'function') return
  throw new ConfigurationError(`${where}: the metering engine has no method record(); give an instance of one`)
}

/** @throws {ConfigurationError} an option is wrong */
export function checkMeteringOptions(options: MeteringOptions): void {
  checkKinds('metering()', options, { kinds: { engine: 'any', meterName: 'name' } })
  if (options.engine !== undefined) checkEngine('metering()', options.engine)
}

/** True for a class with the mixin. */
export function isMetered(view: object): view is MeteredClass {
  return 'meteringMeterName' in view && 'meteringEnabled' in view && 'meteringEngine' in view
}

/** How a class is metered now; undefined where it is switched off or there is no engine. */
export function meteringOf(view: MeteredClass): Metering | undefined {
  const engine = view.meteringEngine ?? common
  return view.meteringEnabled && engine ? { engine, meterName: view.meteringMeterName } : undefined
}

/** How routes are metered now. */
export function meteringFor({ engine, meterName = 'api_usage' }: MeteringOptions): Metering | undefined {
  const chosen = engine ?? common
  return chosen ? { engine: chosen, meterName } : undefined
}

/** @throws {ConfigurationError} metering is on and there is nothing to do it */
export function checkMetering(view: MeteredClass): void {
  if (view.meteringEngine !== null) checkEngine(view.name, view.meteringEngine)
  if (!view.meteringEnabled || meteringOf(view)) return
  throw new ConfigurationError(
    `${view.name}: has no metering engine; set static meteringEngine, call setMeteringEngine(), or set meteringEnabled = false`,
  )
}
