import Router from '@koa/router';
import { requireAdmin, requireUser } from '../auth';
import { Part } from '../models/part';

const router = new Router({ prefix: '/api/parts' });

router.use(requireUser);

router.get('/', async (ctx) => {
  const page = Number(ctx.query.page || 1);
  const query = Part.query()
    .withGraphFetched('supplier')
    .orderBy('sku')
    .page(page - 1, 20);
  if (ctx.query.supplierId) query.where('supplierId', Number(ctx.query.supplierId));
  if (ctx.query.q) query.where((q) => q.where('name', 'ilike', `%${ctx.query.q}%`).orWhere('sku', 'ilike', `%${ctx.query.q}%`));
  const { results, total } = await query;
  ctx.body = { items: results, total };
});

router.get('/:id', async (ctx) => {
  ctx.body = await Part.query().findById(ctx.params.id).withGraphFetched('supplier').throwIfNotFound();
});

router.post('/', requireAdmin, async (ctx) => {
  const part = await Part.query().insert(ctx.request.body);
  ctx.body = await Part.query().findById(part.id).withGraphFetched('supplier');
  ctx.status = 201;
});

router.put('/:id', requireAdmin, async (ctx) => {
  await Part.query().findById(ctx.params.id).patch(ctx.request.body).throwIfNotFound();
  ctx.body = await Part.query().findById(ctx.params.id).withGraphFetched('supplier');
});

router.delete('/:id', requireAdmin, async (ctx) => {
  await Part.query().deleteById(ctx.params.id).throwIfNotFound();
  ctx.status = 204;
});

router.post('/:id/restock', requireAdmin, async (ctx) => {
  const quantity = Number((ctx.request.body as any).quantity);
  if (!Number.isInteger(quantity) || quantity < 1) ctx.throw(422, 'quantity');
  await Part.query().findById(ctx.params.id).increment('stock', quantity).throwIfNotFound();
  ctx.body = await Part.query().findById(ctx.params.id).withGraphFetched('supplier');
});

export default router;
