import assert from 'assert';
import { caller, loggedIn } from './helper';

describe('parts', () => {
  it('need a login, and an admin for changes', async () => {
    await caller().get('/api/parts').expect(401, { error: { message: 'Please log in' } });
    const ben = await loggedIn('ben@workshop.example');
    await ben.post('/api/parts').send({ sku: 'X', name: 'x', price: 1 }).expect(403, { error: { message: 'Admins only' } });
    await ben.put('/api/parts/1').send({ price: 1 }).expect(403);
    await ben.delete('/api/parts/1').expect(403);
    await ben.post('/api/parts/1/restock').send({ quantity: 1 }).expect(403);
  });

  it('are listed by their number, with their supplier', async () => {
    const ben = await loggedIn('ben@workshop.example');
    const { body } = await ben.get('/api/parts').expect(200);
    assert.strictEqual(body.total, 3);
    assert.deepStrictEqual(body.items.map(({ sku }: any) => sku), ['BEL-1', 'CHN-9', 'SPK-28']);
    const { createdAt, updatedAt, ...chain } = body.items[1];
    assert.deepStrictEqual(chain, {
      id: 2,
      sku: 'CHN-9',
      name: 'Chain, 9 gears',
      supplierId: 2,
      price: '24.50',
      stock: 3,
      supplier: { id: 2, name: 'Chains Ltd' },
    });
    assert.ok(Date.parse(createdAt) <= Date.parse(updatedAt));
    assert.strictEqual(body.items[0].supplier, null);
  });

  it('are found by supplier, by words, and by page', async () => {
    const ben = await loggedIn('ben@workshop.example');
    assert.strictEqual((await ben.get('/api/parts?supplierId=1')).body.total, 1);
    assert.strictEqual((await ben.get('/api/parts?q=chn')).body.items[0].sku, 'CHN-9');
    const { body } = await ben.get('/api/parts?page=2').expect(200);
    assert.deepStrictEqual(body, { items: [], total: 3 });
  });

  it('are added', async () => {
    const ada = await loggedIn('ada@workshop.example');
    const { body } = await ada.post('/api/parts').send({ sku: 'TYR-28', name: 'Tyre', price: '19.90', supplierId: 1 }).expect(201);
    assert.deepStrictEqual([body.id, body.stock, body.supplier.name], [4, 0, 'Spokes & Sons']);
  });

  it('are refused where something is wrong', async () => {
    const ada = await loggedIn('ada@workshop.example');
    const { body } = await ada.post('/api/parts').send({ sku: 'no', stock: -1 }).expect(422);
    assert.strictEqual(body.error.message, 'Invalid data');
    assert.deepStrictEqual(body.error.fields.sort(), ['name', 'price', 'sku', 'stock']);
    await ada
      .post('/api/parts')
      .send({ sku: 'CHN-9', name: 'again', price: 1 })
      .expect(409, { error: { message: 'Already taken', fields: ['sku'] } });
  });

  it('are changed in part by PUT', async () => {
    const ada = await loggedIn('ada@workshop.example');
    const { body } = await ada.put('/api/parts/2').send({ price: 25 }).expect(200);
    assert.deepStrictEqual([body.price, body.name], ['25.00', 'Chain, 9 gears']);
    await ada.put('/api/parts/99').send({ price: 25 }).expect(404, { error: { message: 'Not found' } });
  });

  it('are restocked', async () => {
    const ada = await loggedIn('ada@workshop.example');
    assert.strictEqual((await ada.post('/api/parts/2/restock').send({ quantity: 5 }).expect(200)).body.stock, 8);
    await ada.post('/api/parts/2/restock').send({ quantity: 'many' }).expect(422);
  });

  it('are removed, unless they are in use', async () => {
    const ada = await loggedIn('ada@workshop.example');
    await ada.post('/api/jobs/1/parts').send({ partId: 2, quantity: 1 }).expect(201);
    await ada.delete('/api/parts/2').expect(409, { error: { message: 'Still in use, or not there' } });
    await ada.delete('/api/parts/3').expect(204);
    await ada.get('/api/parts/3').expect(404);
  });
});
