/** Reading from streaming replicas: `koa-viewsets/replicas`. */
export { ReplicaDown, ReplicaSet, type ReplicaSetOptions } from './replica-set.js'
