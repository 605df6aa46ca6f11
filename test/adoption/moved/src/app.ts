import Koa from 'koa';
import koaBody from 'koa-body';
import session from 'koa-session';
import { api } from './api';
import './db';
import passport from './auth';
import { errors } from './errors';
import bikes from './routes/bikes';
import customers from './routes/customers';
import imports from './routes/imports';
import jobs from './routes/jobs';
import sessions from './routes/session';

const app = new Koa();
app.keys = [process.env.SECRET || 'not in production'];

app.use(errors);
app.use(session({ key: 'workshop' }, app));
app.use(koaBody());
app.use(passport.initialize());
app.use(passport.session());

app.use(async (ctx, next) => {
  if (ctx.path !== '/health') return next();
  ctx.body = 'ok';
});

for (const router of [sessions, customers, bikes, jobs, imports]) {
  app.use(router.routes());
  app.use(router.allowedMethods());
}

app.use(api.routes());

export default app;
