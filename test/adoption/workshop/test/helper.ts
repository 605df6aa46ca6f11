import { Server } from 'http';
import supertest, { SuperAgentTest } from 'supertest';
import app from '../src/app';
import { db } from '../src/db';
import { hash } from '../src/models/user';

let server: Server;

/** A caller with cookies of its own. */
export const caller = (): SuperAgentTest => supertest.agent(server);

export async function loggedIn(email: string): Promise<SuperAgentTest> {
  const agent = caller();
  await agent.post('/api/session').send({ email, password: 'secret' }).expect(200);
  return agent;
}

before(async () => {
  app.silent = !process.env.LOUD;
  await db.migrate.latest();
  server = app.listen(0);
});

beforeEach(async () => {
  await db.raw('truncate users, customers, bikes, suppliers, parts, jobs, job_parts restart identity cascade');
  await db('users').insert([
    { email: 'ada@workshop.example', password: hash('secret'), isAdmin: true },
    { email: 'ben@workshop.example', password: hash('secret'), isAdmin: false },
  ]);
  await db('customers').insert([{ name: 'Zoe', phone: '555-1' }, { name: 'Abe' }]);
  await db('bikes').insert([
    { customerId: 1, frameNumber: 'WX-100', brand: 'Gazelle' },
    { customerId: 2, frameNumber: 'WX-200' },
  ]);
  await db('suppliers').insert([{ name: 'Spokes & Sons' }, { name: 'Chains Ltd' }]);
  await db('parts').insert([
    { sku: 'SPK-28', name: 'Spoke 28"', supplierId: 1, price: 0.8, stock: 200 },
    { sku: 'CHN-9', name: 'Chain, 9 gears', supplierId: 2, price: 24.5, stock: 3 },
    { sku: 'BEL-1', name: 'Bell', price: 7, stock: 0 },
  ]);
  await db('jobs').insert([{ bikeId: 1, notes: 'squeaks' }, { bikeId: 2, state: 'done' }]);
});

after(async () => {
  server.close();
  await db.destroy();
});
