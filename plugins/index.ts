/** Koa middleware, one factory for each feature. */
export { authentication } from './authentication.js'
export { errors } from './errors.js'
export { checkObjectPermissions, permissions } from './permissions.js'
export { versioning } from './versioning.js'
export { etag } from './etag.js'
export { metering } from './metering.js'
export { transaction } from './transaction.js'
