import assert from 'assert';
import { caller, loggedIn } from './helper';

describe('customers', () => {
  it('need a login', () => caller().get('/api/customers').expect(401, { error: { message: 'Please log in' } }));

  it('are listed by name', async () => {
    const ben = await loggedIn('ben@workshop.example');
    const { body } = await ben.get('/api/customers').expect(200);
    assert.strictEqual(body.total, 2);
    assert.deepStrictEqual(body.items.map(({ name }: any) => name), ['Abe', 'Zoe']);
    assert.deepStrictEqual(Object.keys(body.items[0]), ['id', 'name', 'phone', 'createdAt', 'updatedAt']);
  });

  it('are found by a part of the name', async () => {
    const ben = await loggedIn('ben@workshop.example');
    const { body } = await ben.get('/api/customers?name=zo').expect(200);
    assert.strictEqual(body.total, 1);
  });

  it('are shown with their bikes', async () => {
    const ben = await loggedIn('ben@workshop.example');
    const { body } = await ben.get('/api/customers/1').expect(200);
    assert.deepStrictEqual(body.bikes, [{ id: 1, customerId: 1, frameNumber: 'WX-100', brand: 'Gazelle' }]);
  });

  it('are added, changed and, by an admin, removed', async () => {
    const ben = await loggedIn('ben@workshop.example');
    const { body } = await ben.post('/api/customers').send({ name: 'Momo' }).expect(201);
    await ben.patch(`/api/customers/${body.id}`).send({ phone: '555-3' }).expect(200);
    await ben.delete(`/api/customers/${body.id}`).expect(403, { error: { message: 'Admins only' } });
    const ada = await loggedIn('ada@workshop.example');
    await ada.delete(`/api/customers/${body.id}`).expect(204);
    await ada.get(`/api/customers/${body.id}`).expect(404, { error: { message: 'Not found' } });
  });

  it('have a name', async () => {
    const ben = await loggedIn('ben@workshop.example');
    await ben.post('/api/customers').send({}).expect(422, { error: { message: 'Invalid data', fields: ['name'] } });
  });
});

describe('bikes of a customer', () => {
  it('are listed and added', async () => {
    const ben = await loggedIn('ben@workshop.example');
    const { body } = await ben.post('/api/customers/1/bikes').send({ frameNumber: 'WX-300' }).expect(201);
    assert.strictEqual(body.customerId, 1);
    const list = await ben.get('/api/customers/1/bikes').expect(200);
    assert.deepStrictEqual(list.body.map(({ frameNumber }: any) => frameNumber), ['WX-100', 'WX-300']);
  });

  it('are removed below their own customer only', async () => {
    const ben = await loggedIn('ben@workshop.example');
    await ben.delete('/api/customers/1/bikes/2').expect(404);
    await ben.delete('/api/customers/2/bikes/2').expect(204);
  });

  it('are nowhere without a customer', async () => {
    const ben = await loggedIn('ben@workshop.example');
    await ben.get('/api/customers/99/bikes').expect(404, { error: { message: 'Not found' } });
  });
});
