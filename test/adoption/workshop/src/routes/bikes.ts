import Router, { RouterContext } from '@koa/router';
import { Next } from 'koa';
import { requireUser } from '../auth';
import { Bike } from '../models/bike';
import { Customer } from '../models/customer';

const router = new Router({ prefix: '/api/customers/:customerId/bikes' });

router.use(requireUser);

/** On each route: what `use()` takes does not see parameters of the prefix. */
async function findCustomer(ctx: RouterContext, next: Next) {
  ctx.state.customer = await Customer.query().findById(ctx.params.customerId).throwIfNotFound();
  await next();
}

router.get('/', findCustomer, async (ctx) => {
  ctx.body = await ctx.state.customer.$relatedQuery('bikes').orderBy('id');
});

router.post('/', findCustomer, async (ctx) => {
  ctx.body = await ctx.state.customer.$relatedQuery('bikes').insert(ctx.request.body);
  ctx.status = 201;
});

router.delete('/:id', async (ctx) => {
  await Bike.query().deleteById(ctx.params.id).where('customerId', ctx.params.customerId).throwIfNotFound();
  ctx.status = 204;
});

export default router;
