import assert from 'assert';
import { caller, loggedIn } from './helper';

describe('session', () => {
  it('is opened, shown and closed', async () => {
    const ben = await loggedIn('ben@workshop.example');
    const { body } = await ben.get('/api/session').expect(200);
    assert.deepStrictEqual(body, { id: 2, email: 'ben@workshop.example', isAdmin: false });
    await ben.delete('/api/session').expect(204);
    await ben.get('/api/session').expect(401, { error: { message: 'Please log in' } });
  });

  it('is not opened by a wrong password', () =>
    caller()
      .post('/api/session')
      .send({ email: 'ben@workshop.example', password: 'wrong' })
      .expect(401, { error: { message: 'Wrong email or password' } }));

  it('takes a form, too', () =>
    caller().post('/api/session').type('form').send({ email: 'ben@workshop.example', password: 'secret' }).expect(200));
});

describe('the app', () => {
  it('is healthy', () => caller().get('/health').expect(200, 'ok'));
  it('has no other page', () => caller().get('/nothing').expect(404, { error: { message: 'Not found' } }));
  it('says which methods there are', () => caller().put('/api/session').expect(405).expect('Allow', /POST/));
  it('takes a slash at the end', async () => {
    const ben = await loggedIn('ben@workshop.example');
    await ben.get('/api/customers/').expect(200);
    await ben.get('/api/parts/').expect(200);
  });
});
