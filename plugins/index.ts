/** Koa middleware, one factory for each feature. */
export { errors } from './errors.js'
