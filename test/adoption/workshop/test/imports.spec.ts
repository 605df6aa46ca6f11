import assert from 'assert';
import { loggedIn } from './helper';

describe('imports', () => {
  it('add suppliers from a file', async () => {
    const ada = await loggedIn('ada@workshop.example');
    const { body } = await ada
      .post('/api/imports/suppliers')
      .attach('file', Buffer.from('Bells & Co\nTyres AG\n'), 'suppliers.txt')
      .expect(201);
    assert.deepStrictEqual(body, { imported: 2 });
  });

  it('are for admins, and need a file', async () => {
    const ben = await loggedIn('ben@workshop.example');
    await ben.post('/api/imports/suppliers').expect(403);
    const ada = await loggedIn('ada@workshop.example');
    await ada.post('/api/imports/suppliers').expect(400, { error: { message: 'A file, please' } });
  });
});
