import { promises as fs } from 'fs';
import Router from '@koa/router';
import koaBody from 'koa-body';
import { requireAdmin } from '../auth';
import { Supplier } from '../models/supplier';

const router = new Router({ prefix: '/api/imports' });

/** A file with a supplier on each line. */
router.post('/suppliers', requireAdmin, koaBody({ multipart: true }), async (ctx) => {
  const file = ctx.request.files && (ctx.request.files.file as any);
  if (!file) ctx.throw(400, 'A file, please');
  const lines = (await fs.readFile(file.path, 'utf8')).split('\n').filter(Boolean);
  const suppliers = await Supplier.query().insert(lines.map((name) => ({ name })));
  ctx.body = { imported: suppliers.length };
  ctx.status = 201;
});

export default router;
