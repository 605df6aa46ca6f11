import assert from 'assert';
import { loggedIn } from './helper';

describe('jobs', () => {
  it('are listed by state', async () => {
    const ben = await loggedIn('ben@workshop.example');
    const { body } = await ben.get('/api/jobs?state=done').expect(200);
    assert.deepStrictEqual(body.items.map(({ id }: any) => id), [2]);
  });

  it('take parts out of the stock', async () => {
    const ben = await loggedIn('ben@workshop.example');
    const { body } = await ben.post('/api/jobs/1/parts').send({ partId: 2, quantity: 2 }).expect(201);
    assert.deepStrictEqual(body.parts.map(({ sku, quantity }: any) => [sku, quantity]), [['CHN-9', 2]]);
    assert.strictEqual((await ben.get('/api/parts/2')).body.stock, 1);
    await ben.post('/api/jobs/1/parts').send({ partId: 3, quantity: 1 }).expect(409, { error: { message: 'Not in stock' } });
  });

  it('are added and done', async () => {
    const ben = await loggedIn('ben@workshop.example');
    const { body } = await ben.post('/api/jobs').send({ bikeId: 2 }).expect(201);
    assert.strictEqual(body.state, 'open');
    assert.strictEqual((await ben.post(`/api/jobs/${body.id}/done`).expect(200)).body.state, 'done');
    await ben.get('/api/jobs/99').expect(404);
  });
});
