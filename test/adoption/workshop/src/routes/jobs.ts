import Router from '@koa/router';
import { requireUser } from '../auth';
import { Job } from '../models/job';
import { Part } from '../models/part';

const router = new Router({ prefix: '/api/jobs' });

router.use(requireUser);

router.get('/', async (ctx) => {
  const query = Job.query().orderBy('id');
  if (ctx.query.state) query.where('state', ctx.query.state as string);
  ctx.body = { items: await query };
});

router.get('/:id', async (ctx) => {
  ctx.body = await Job.query().findById(ctx.params.id).withGraphFetched('parts').throwIfNotFound();
});

router.post('/', async (ctx) => {
  ctx.body = await Job.query().insertAndFetch(ctx.request.body);
  ctx.status = 201;
});

router.post('/:id/parts', async (ctx) => {
  const { partId, quantity } = ctx.request.body;
  await Job.transaction(async (trx) => {
    const job = await Job.query(trx).findById(ctx.params.id).forUpdate().throwIfNotFound();
    const left = await Part.query(trx).findById(partId).where('stock', '>=', quantity).decrement('stock', quantity);
    if (!left) ctx.throw(409, 'Not in stock');
    await job.$relatedQuery('parts', trx).relate({ id: partId, quantity } as any);
  });
  ctx.body = await Job.query().findById(ctx.params.id).withGraphFetched('parts');
  ctx.status = 201;
});

router.post('/:id/done', async (ctx) => {
  ctx.body = await Job.query().patchAndFetchById(ctx.params.id, { state: 'done' }).throwIfNotFound();
});

export default router;
