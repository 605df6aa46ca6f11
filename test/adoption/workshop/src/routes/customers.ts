import Router from '@koa/router';
import { requireAdmin, requireUser } from '../auth';
import { Customer } from '../models/customer';

const router = new Router({ prefix: '/api/customers' });

router.use(requireUser);

router.get('/', async (ctx) => {
  const page = Number(ctx.query.page || 0);
  const query = Customer.query().orderBy('name').page(page, 20);
  if (ctx.query.name) query.where('name', 'ilike', `%${ctx.query.name}%`);
  const { results, total } = await query;
  ctx.body = { items: results, total };
});

router.get('/:id', async (ctx) => {
  ctx.body = await Customer.query().findById(ctx.params.id).withGraphFetched('bikes').throwIfNotFound();
});

router.post('/', async (ctx) => {
  ctx.body = await Customer.query().insertAndFetch(ctx.request.body);
  ctx.status = 201;
});

router.patch('/:id', async (ctx) => {
  ctx.body = await Customer.query().patchAndFetchById(ctx.params.id, ctx.request.body).throwIfNotFound();
});

router.delete('/:id', requireAdmin, async (ctx) => {
  await Customer.query().deleteById(ctx.params.id).throwIfNotFound();
  ctx.status = 204;
});

export default router;
