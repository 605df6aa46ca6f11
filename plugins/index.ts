/** Koa middleware, one factory for each feature. */
export { authentication } from './authentication.js'
export { errors } from './errors.js'
export { etag } from './etag.js'
export { metering } from './metering.js'
export { checkObjectPermissions, permissions } from './permissions.js'
export { throttle } from './throttle.js'
export { transaction } from './transaction.js'
export { versioning } from './versioning.js'
