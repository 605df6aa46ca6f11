/** Generic views for routes that an application writes itself, and what view sets compute of lists: `koa-viewsets/views`. */
export {
  type Aggregate,
  type AggregateName,
  avg,
  count,
  countDistinct,
  max,
  min,
  sum,
} from '../aggregates/aggregate.js'
export { modelView } from '../factories/view-sets.js'
export { ModifierFilter } from '../filters/modifier-filter.js'
export { mountView } from '../router/mount.js'
export {
  CreateAPIView,
  DestroyAPIView,
  ListAPIView,
  ListCreateAPIView,
  RetrieveAPIView,
  RetrieveDestroyAPIView,
  RetrieveUpdateAPIView,
  RetrieveUpdateDestroyAPIView,
  UpdateAPIView,
} from './generic-views.js'
export { AggregateMixin } from './mixins/aggregate-mixin.js'
