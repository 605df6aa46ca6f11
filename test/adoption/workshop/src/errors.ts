import { Context, Next } from 'koa';
import { NotFoundError, UniqueViolationError, ForeignKeyViolationError, ValidationError } from 'objection';

/** All errors of the API look like this: { error: { message, fields? } } */
export async function errors(ctx: Context, next: Next) {
  try {
    await next();
    if (ctx.status === 404 && !ctx.body) {
      ctx.status = 404;
      ctx.body = { error: { message: 'Not found' } };
    }
  } catch (err: any) {
    if (err instanceof ValidationError) {
      ctx.status = 422;
      ctx.body = { error: { message: 'Invalid data', fields: Object.keys(err.data || {}) } };
    } else if (err instanceof NotFoundError) {
      ctx.status = 404;
      ctx.body = { error: { message: 'Not found' } };
    } else if (err instanceof UniqueViolationError) {
      ctx.status = 409;
      ctx.body = { error: { message: 'Already taken', fields: err.columns } };
    } else if (err instanceof ForeignKeyViolationError) {
      ctx.status = 409;
      ctx.body = { error: { message: 'Still in use, or not there' } };
    } else {
      ctx.status = err.status || 500;
      ctx.body = { error: { message: err.expose ? err.message : 'Internal error' } };
      if (ctx.status >= 500) ctx.app.emit('error', err, ctx);
    }
  }
}
