/** The router that nginx asks which backend answers: two versions of one application, the new one by request. */
import Koa from 'koa'
import { errors, versionRouter } from 'koa-viewsets/plugins'

/** Answers 204 with `x-backend-target`, or 409 for a version that there is not. */
export function createVersionRouter(): Koa {
  const app = new Koa()
  app.use(errors())
  app.use(versionRouter({ versionMap: { v1: 'blue', v2: 'green' }, defaultVersion: 'v1' }))
  return app.use((ctx) => {
    ctx.status = 204
  })
}
