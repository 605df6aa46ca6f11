/** Generic views for routes that an application writes itself: `koa-viewsets/views`. */
export { modelView } from '../factories/view-sets.js'
export { mountView } from '../router/mount-view.js'
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
