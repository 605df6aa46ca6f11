/** Changes of objects, each as it was committed: `koa-viewsets/changes`. */

export { ChangeStreamMixin, type ChangeStreamOptions } from './change-stream-mixin.js'
export { ChangesMixin } from './changes-mixin.js'
export { ensureChangesTable, sweepChanges } from './changes-partitions.js'
export { HistoryMixin } from './history-mixin.js'
export { type ChangesPage, type ReadChange, type ReadChangesOptions, readChanges } from './read-changes.js'
export { recordChange } from './record-change.js'
export type { Changes } from './recording.js'
