/** Counts what each user uses: `koa-viewsets/metering`. */
export { MeteringMixin } from '../views/mixins/metering-mixin.js'
export type { MeteringEngine, UsageDimensions, UsageEvent, UsageReport, UsageTotal } from './engine.js'
export { InMemoryMeteringEngine, type InMemoryMeteringEngineOptions } from './in-memory-metering-engine.js'
export { type MeteringOptions, setMeteringEngine } from './metering-engine.js'
export { PostgresMeteringEngine, type PostgresMeteringEngineOptions } from './postgres-metering-engine.js'
