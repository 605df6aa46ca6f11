/** A request that writes an object holds its row: what was checked is what is written, whoever else writes meanwhile. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import knexLibrary, { type Knex } from 'knex'
import { Model, type QueryBuilder } from 'objection'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  APIRouter,
  action,
  BasePermission,
  BulkModelViewSet,
  type Concurrency,
  FileUploadField,
  ModelSerializer,
  ModelViewSet,
  modelSerializer,
  modelViewSet,
  NestedRouter,
  NestedSerializer,
  NestedViewSetMixin,
} from '../../lib/index.js'
import { any, rule } from '../../lib/rules/index.js'
import { FileSystemStorage } from '../../lib/storage/index.js'
import { type Client, serveApp } from '../support/client.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { MULTIPART, multipart } from '../support/multipart.js'
import { runsAsRole } from '../support/roles.js'
import { connectTo } from '../support/server.js'
import { whileHeld } from '../support/waiting.js'

const SCHEMA = `
  create table folders (id int primary key, name text not null unique);
  insert into folders values (1, 'inbox'), (2, 'other');
  create table notes (id int primary key, owner text not null, n int not null default 0, text text not null, file text,
    changed timestamptz not null default clock_timestamp(), folder_id int references folders);
  create function touch() returns trigger language plpgsql as
    $$ begin new.changed = clock_timestamp(); return new; end $$;
  create trigger touch before update on notes for each row execute function touch();
  create table team (name text primary key);
  insert into team values ('me'), ('us');
  create view notes_with_length as select id, owner, n, text, length(text) as length from notes;
  create view notes_as_groups as select id, folder_id, max(text) as text from notes group by id;
  create function write_note() returns trigger language plpgsql as
    $$ begin update notes set text = new.text, folder_id = new.folder_id where id = new.id; return new; end $$;
  create trigger write_note instead of insert or update or delete on notes_as_groups for each row execute function write_note();
`
const MISSING = '{"detail":"Not found","status":404}'

class Member extends Model {
  static override tableName = 'team'
  static override idColumn = 'name'
}
class Folder extends Model {
  static override tableName = 'folders'
}
class Note extends Model {
  static override tableName = 'notes'
  static override relationMappings = () => ({
    member: {
      relation: Model.BelongsToOneRelation,
      modelClass: Member,
      join: { from: 'notes.owner', to: 'team.name' },
    },
  })
  declare id: number
  declare n: number
}
class NoteSerializer extends ModelSerializer<Note> {
  static override model = Note
  static override fields: readonly string[] = ['id', 'owner', 'n', 'text']
}
/** Notes that are the caller's. */
class Notes extends BulkModelViewSet<Note> {
  static override model = Note
  static override serializerClass = NoteSerializer
  override getQueryset(): QueryBuilder<Note> {
    return super.getQueryset().where('owner', 'me')
  }
  @action({ methods: ['POST'], detail: true })
  async bump() {
    const note = await this.getObjectToWrite()
    await note.$query(this.trx).patch({ n: note.n + 1 })
    return {}
  }
}
/** The same, seen through another row of the table. */
class NotesByQuery extends Notes {
  override getQueryset(): QueryBuilder<Note> {
    return Note.query(this.trx ?? this.knex).whereIn('id', Note.query().select('id').where('owner', 'me'))
  }
}

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase({ schema: SCHEMA })
  Note.knex(database.knex)
  Folder.knex(database.knex)
  Member.knex(database.knex)
})
afterAll(() => database.drop())
beforeEach(async () => {
  await database.knex('notes').delete()
  await database.knex('notes').insert([
    { id: 1, owner: 'me', text: 'one' },
    { id: 2, owner: 'you', text: 'two' },
  ])
})

type View = Parameters<APIRouter['register']>[1]

async function served(view: View, knex?: Knex): Promise<Client> {
  const api = new APIRouter().register('notes', view, 'note')
  await api.prepare(knex ? { knex } : {})
  return serveApp(api.routes())
}

/** Sends a request that waits for a row which another transaction changes, and lets go of it then. */
const whileChanged = (sql: string, request: () => Promise<unknown>) =>
  whileHeld(database.knex, (holder) => holder.raw(sql), request)

const GIVE_AWAY = `update notes set owner = 'you' where id = 1`
const stored = () => database.knex('notes').where('id', 1).first('owner', 'n', 'text')
const body = { id: 1, owner: 'me', n: 7, text: 'mine' }

const WRITES: readonly [
  name: string,
  send: (client: Client) => Promise<{ status: number; text: string }>,
  status?: number,
][] = [
  ['PATCH', ({ send }) => send('PATCH', '/notes/1', { text: 'mine' })],
  ['PUT', ({ send }) => send('PUT', '/notes/1', body)],
  ['DELETE', ({ send }) => send('DELETE', '/notes/1')],
  ['an action', ({ send }) => send('POST', '/notes/1/bump')],
  ['a bulk PATCH', ({ send }) => send('PATCH', '/notes/bulk', [{ id: 1, text: 'mine' }]), 400],
  ['a bulk DELETE', ({ send }) => send('DELETE', '/notes/bulk', [1]), 400],
]

describe.each([
  ['a condition on the row', Notes],
  ['a condition on other rows', NotesByQuery],
  [
    'a version',
    class extends Notes {
      static override concurrency: Concurrency = 'changed'
    },
  ],
  [
    'a transaction of each step of its own',
    class extends Notes {
      static override atomic = false
    },
  ],
] as const)('behind %s', (_name, view) => {
  it.each(WRITES)(
    '%s of a row that goes to somebody else meanwhile is of a missing one',
    async (name, write, status = 404) => {
      if (name === 'an action' && !view.atomic) return
      const client = await served(view)
      await whileChanged(GIVE_AWAY, async () => {
        const answer = await write(client)
        expect(answer.status).toBe(status)
        if (status === 404) expect(answer.text).toBe(MISSING)
      })
      expect(await stored()).toEqual({ owner: 'you', n: 0, text: 'one' })
    },
  )

  it.each(WRITES)(
    '%s of a row that stays the caller’s is done over what was written meanwhile',
    async (name, write) => {
      if (name === 'an action' && !view.atomic) return
      const client = await served(view)
      await whileChanged(`update notes set n = 5 where id = 1`, async () => {
        expect((await write(client)).status).toBeLessThan(300)
      })
      expect((await stored())?.n).toBe({ PUT: 7, 'an action': 6, PATCH: 5, 'a bulk PATCH': 5 }[name])
    },
  )

  it.each(WRITES)('%s does not wait for a row that the caller does not see', async (name, write, status = 404) => {
    if (name === 'an action' && !view.atomic) return
    const client = await served(view)
    await database.knex.raw(GIVE_AWAY)
    const holder = await database.knex.transaction()
    try {
      await holder.raw('select from notes for update')
      expect((await write(client)).status).toBe(status)
    } finally {
      await holder.rollback()
    }
  })
})

describe.each([
  [
    'a queryset',
    class extends Notes {
      override getQueryset(): QueryBuilder<Note> {
        return Note.query(this.trx ?? this.knex).whereRaw('exists (select from team where name = notes.owner)')
      }
    },
    [],
  ],
  [
    'a rule',
    class extends Notes {
      override getQueryset(): QueryBuilder<Note> {
        return Note.query(this.trx ?? this.knex)
      }
    },
    [rule(Note, { read: any('member', { name__ne: 'you' }) })],
  ],
] as const)('behind %s that leads to other rows', (_name, view, rules) => {
  it.each(WRITES)('%s of a row that leads to another of those meanwhile finds it', async (name, write) => {
    const api = new APIRouter({ rules: [...rules] }).register('notes', view, 'note')
    await api.prepare()
    const client = await serveApp(api.routes())
    await whileChanged(`update notes set owner = 'us' where id = 1`, async () => {
      expect((await write(client)).status).toBeLessThan(300)
    })
    expect((await stored())?.owner).toBe(name.includes('DELETE') ? undefined : name === 'PUT' ? 'me' : 'us')
  })
})

class Folders extends ModelViewSet<Folder> {
  static override model = Folder
  static override serializerClass = modelSerializer(Folder, { fields: '__all__' })
  static override lookupField = 'name'
}
class Readers extends BasePermission {
  override async hasObjectPermission() {
    return true
  }
}

/** Folders that are looked at before what is in them, or not. */
const FOLDERS: readonly [string, typeof Folders][] = [
  ['folders', Folders],
  [
    'folders of an own queryset',
    class extends Folders {
      override getQueryset() {
        return super.getQueryset().whereNot('name', 'hidden')
      }
    },
  ],
  [
    'folders whose readers are asked for',
    class extends Folders {
      static override permissionClasses = [Readers]
    },
  ],
]

describe.each(
  FOLDERS.flatMap(([kind, folders]): [string, typeof Folders, typeof Notes][] => [
    [kind, folders, Notes],
    [`${kind}, and a condition on other rows`, folders, NotesByQuery],
  ]),
)('below %s', (_name, folders, notes) => {
  class NotesInFolder extends NestedViewSetMixin(notes) {
    static override parentLookupField = 'folder_id'
  }
  const SWAP = `update notes set n = 5 where id = 1; update folders set name = 'old' where id = 1;
    update folders set name = 'inbox' where id = 2`

  it.each(WRITES)(
    '%s of a row whose folder loses its name to another meanwhile is of a missing one',
    async (_kind, write, status = 404) => {
      await database.knex.raw(`update folders set name = 'other' where id = 2; update folders set name = 'inbox' where id = 1;
        update notes set folder_id = 1`)
      const api = new APIRouter().register('folders', folders)
      new NestedRouter(api, 'folders', { lookup: 'folder' }).register('notes', NotesInFolder)
      await api.prepare()
      const client = await serveApp(api.routes())
      const send: Client['send'] = (method, path, ...rest) => client.send(method, `/folders/inbox${path}`, ...rest)
      await whileChanged(SWAP, async () => {
        const answer = await write({ ...client, send })
        expect([404, status]).toContain(answer.status)
      })
      expect(await stored()).toEqual({ owner: 'me', n: 5, text: 'one' })
    },
  )
})

describe('getObjectToWrite()', () => {
  it('loses none of 20 changes that are each made of what was read', async () => {
    const { send } = await served(Notes)
    const answers = await Promise.all(Array.from({ length: 20 }, () => send('POST', '/notes/1/bump')))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect((await stored())?.n).toBe(20)
  })

  it('throws in a request that only reads, and where no transaction holds the row', async () => {
    class Wrong extends Notes {
      static override atomic = false
      @action({ methods: ['GET'], detail: true })
      async look() {
        return this.getObjectToWrite()
      }
    }
    const client = await served(Wrong)
    expect((await client.get('/notes/1/look')).status).toBe(500)
    expect((await client.send('POST', '/notes/1/bump')).status).toBe(500)
    expect(client.reported).toMatchObject([
      {
        message: expect.stringMatching(
          /Wrong\.look\(\): getObjectToWrite\(\) is for requests that write; call getObject\(\)/,
        ),
      },
      {
        message: expect.stringMatching(/Wrong\.bump\(\): getObjectToWrite\(\) holds the row until a transaction ends/),
      },
    ])
  })

  it('takes a transaction that the action has opened itself', async () => {
    class Own extends Notes {
      static override atomic = false
      override async bump() {
        await this.knex?.transaction(async (trx) => {
          this.trx = trx
          await super.bump()
        })
        return {}
      }
    }
    const { send } = await served(Own)
    await whileChanged(`update notes set n = 5 where id = 1`, async () => {
      expect((await send('POST', '/notes/1/bump')).status).toBe(200)
    })
    expect((await stored())?.n).toBe(6)
  })

  it('is 409 where getObject() goes on choosing others', async () => {
    await database.knex('notes').insert([3, 4, 5, 6].map((id) => ({ id, owner: 'me', text: 'more' })))
    let choices = 0
    class Restless extends Notes {
      override async getObject(): Promise<Note> {
        return Note.query(this.trx).findById(++choices).throwIfNotFound()
      }
    }
    const { send } = await served(Restless)
    expect((await send('PATCH', '/notes/1', { text: 'x' })).status).toBe(409)
    expect(choices).toBe(4)
    expect(await database.knex('notes').where('text', 'x')).toEqual([])
  })

  it.each([
    ['another table', (knex: Knex) => Folder.query(knex).findById(2)],
    ['no table', () => ({ id: 2, name: 'other' })],
  ])('leaves an object of %s that getObject() chooses as it is', async (_name, choose) => {
    class Others extends Notes {
      override async getObject() {
        return (await choose(this.knex as never)) as never
      }
      @action({ methods: ['POST'], detail: true })
      async told() {
        return JSON.parse(JSON.stringify(await this.getObjectToWrite()))
      }
    }
    // there is no note of its key
    await database.knex('notes').where('id', 2).delete()
    await database.knex('folders').where('id', 2).update({ name: 'other' })
    const { send } = await served(Others)
    expect(await send('POST', '/notes/1/told')).toMatchObject({ status: 200, json: { id: 2, name: 'other' } })
  })

  it.each([
    ['goes to somebody else', GIVE_AWAY],
    ['is deleted', 'delete from notes where id = 1'],
  ])('is 404 where the row that getObject() has waited for, or is to be held, %s', async (_name, sql) => {
    class Chosen extends Notes {
      override async getObject(): Promise<Note> {
        const query = this.getQueryset().findById(1)
        return (await (this.ctx.params['id'] === '1' ? query.forUpdate() : query)) as Note
      }
    }
    const { send, reported } = await served(Chosen)
    await whileChanged(sql, async () => {
      const answers = ['/notes/1', '/notes/0'].map((path) => send('PATCH', path, { text: 'mine' }))
      answers.push(send('DELETE', '/notes/1'))
      expect((await Promise.all(answers)).map(({ text }) => text)).toEqual([MISSING, MISSING, MISSING])
    })
    expect(await stored()).not.toMatchObject({ text: 'mine' })
    expect(reported).toEqual([])
  })

  it('holds the row that an application’s getObject() chooses, and has it choose again', async () => {
    await database.knex('notes').insert({ id: 3, owner: 'me', text: 'three' })
    class First extends Notes {
      override async getObject(): Promise<Note> {
        const [note] = await this.getQueryset().orderBy('id').limit(1)
        return note as Note
      }
    }
    const { send } = await served(First)
    await whileChanged(GIVE_AWAY, async () => {
      expect((await send('PATCH', '/notes/0', { text: 'first' })).json).toMatchObject({ id: 3, text: 'first' })
    })
    expect(await stored()).toEqual({ owner: 'you', n: 0, text: 'one' })
  })
})

describe('files of racing uploads', () => {
  it('are left only where a row names them', async () => {
    const root = mkdtempSync(join(tmpdir(), 'koa-viewsets-locks-'))
    onTestFinished(() => rmSync(root, { recursive: true }))
    class FileSerializer extends NoteSerializer {
      static override fields = ['id']
      static override declaredFields = {
        file: new FileUploadField({
          storage: new FileSystemStorage({ root, baseUrl: '/files' }),
          allowedExtensions: ['txt'],
        }),
      }
    }
    class Files extends Notes {
      static override serializerClass = FileSerializer as never
    }
    const client = await served(Files)
    const server = connectTo(client.port)
    const form = multipart({ name: 'file', filename: 'a.txt', type: 'text/plain', content: 'x' })
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        server.send({ method: 'PATCH', path: '/notes/1', headers: MULTIPART, body: form }),
      ),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    const { file } = await database.knex('notes').where('id', 1).first('file')
    await vi.waitFor(() => expect(readdirSync(root)).toEqual([file]))
  })
})

it.each([
  ['lock_timeout', '55P03'],
  ['statement_timeout', '57014'],
])('what %s ends is 503, and stores nothing; its connection is as before', async (setting, code) => {
  const pool = knexLibrary({
    client: 'pg',
    connection: { ...database.direct } as object,
    pool: { min: 1, max: 1 },
    log: { error() {} },
  })
  onTestFinished(() => pool.destroy())
  class Bounded extends Notes {
    override getKnex() {
      return pool
    }
    override getQueryset(): QueryBuilder<Note> {
      return Note.query(this.trx ?? this.knex).where('owner', 'me')
    }
  }
  const client = await served(Bounded)
  await pool.raw(`set ${setting} = '50ms'`)
  const holder = await database.knex.transaction()
  await holder.raw('select from notes where id = 1 for update')
  for (const [name, write] of WRITES) expect([name, (await write(client)).status]).toEqual([name, 503])
  await holder.rollback()
  expect(await stored()).toEqual({ owner: 'me', n: 0, text: 'one' })
  expect(new Set(client.reported.map((error) => (error as { cause?: { code?: string } }).cause?.code))).toEqual(
    new Set([code]),
  )
})

// its own roles would be the login's, which nothing runs as
describe.skipIf(runsAsRole())('a role of the database', () => {
  let roles = 0
  /** A pool of a role with these rights on notes, past a PgBouncer: a role that is set is the session's. */
  async function poolOf(...grants: string[]): Promise<Knex> {
    const role = `note_role_${process.pid}_${roles++}`
    await database.knex.raw(`create role ${role}; grant usage on schema public to ${role}`)
    for (const sql of grants) await database.knex.raw(sql.replaceAll('ROLE', role))
    const pool = knexLibrary({
      client: 'pg',
      connection: { ...database.direct } as object,
      pool: {
        min: 0,
        max: 5,
        afterCreate: (connection: pg.Client, done: (error: unknown, connection: pg.Client) => void) =>
          connection.query(`set role ${role}`, (error) => done(error, connection)),
      },
      log: { error() {} },
    })
    onTestFinished(async () => {
      await pool.destroy()
      await database.knex.raw(`drop owned by ${role}; drop role ${role}`)
    })
    return pool
  }
  const viewOf = (pool: Knex): View =>
    class extends Notes {
      override getKnex() {
        return pool
      }
      override getQueryset(): QueryBuilder<Note> {
        return Note.query(this.trx ?? this.knex).where('owner', 'me')
      }
    }

  it('that may delete, and not update, deletes what it sees', async () => {
    const { send, port } = await served(viewOf(await poolOf('grant select, delete on notes to ROLE')))
    expect((await send('DELETE', '/notes/2')).text).toBe(MISSING)
    // the document knows nothing of what roles may do
    const headers = { 'Content-Type': 'application/json' }
    const patch = await connectTo(port).send({ method: 'PATCH', path: '/notes/1', headers, body: '{"text":"x"}' })
    expect(patch.status).toBe(403)
    expect((await send('DELETE', '/notes/1')).status).toBe(204)
    expect(await database.knex('notes').pluck('id')).toEqual([2])
  })

  it('that may delete, and not update, does not delete a row that goes to somebody else meanwhile', async () => {
    const { send } = await served(viewOf(await poolOf('grant select, delete on notes to ROLE')))
    await whileChanged(GIVE_AWAY, async () => {
      expect((await send('DELETE', '/notes/1')).text).toBe(MISSING)
    })
    await database.knex.raw(`update notes set owner = 'me' where id = 1`)
    // what is to be compared with the row is compared with the one that was read
    const conditional = { 'If-None-Match': '"other"' }
    await whileChanged(`update notes set n = 5 where id = 1`, async () => {
      expect((await send('DELETE', '/notes/1', undefined, conditional)).status).toBe(409)
    })
    expect((await stored())?.n).toBe(5)
    await whileChanged(`update notes set n = 6 where id = 1`, async () => {
      expect((await send('DELETE', '/notes/1')).status).toBe(204)
    })
    expect(await stored()).toBeUndefined()
  })

  it('whose policies show a row and let it not be changed is refused', async () => {
    const pool = await poolOf('grant select, update, delete on notes to ROLE')
    await database.knex.raw(`
      alter table notes enable row level security;
      create policy seen on notes for select using (true);
      create policy changed on notes for update using (n > 100);
      create policy gone on notes for delete using (text <> 'kept')`)
    try {
      const { send } = await served(viewOf(pool))
      expect((await send('PATCH', '/notes/1', { text: 'x' })).status).toBe(403)
      expect((await send('PATCH', '/notes/2', { text: 'x' })).text).toBe(MISSING)
      await database.knex.raw(`update notes set text = 'kept'`)
      expect((await send('DELETE', '/notes/1')).status).toBe(403)
      expect((await send('DELETE', '/notes/2')).text).toBe(MISSING)
      await database.knex.raw(`update notes set text = 'free'`)
      expect((await send('DELETE', '/notes/1')).status).toBe(204)
      expect(await database.knex('notes').pluck('id')).toEqual([2])
    } finally {
      await database.knex.raw(`
        drop policy seen on notes; drop policy changed on notes; drop policy gone on notes;
        alter table notes disable row level security`)
    }
  })
})

it('a view of one table is locked as the table is', async () => {
  class Shown extends Model {
    static override tableName = 'notes_with_length'
    declare id: number
  }
  Shown.knex(database.knex)
  class ShownSerializer extends ModelSerializer<Shown> {
    static override model = Shown
    static override fields = ['id', 'text', 'length']
  }
  class ShownNotes extends BulkModelViewSet<Shown> {
    static override model = Shown
    static override serializerClass = ShownSerializer
    override getQueryset(): QueryBuilder<Shown> {
      return super.getQueryset().where('owner', 'me')
    }
  }
  const { send } = await served(ShownNotes)
  await whileChanged(GIVE_AWAY, async () => {
    expect((await send('PATCH', '/notes/1', { text: 'longer' })).text).toBe(MISSING)
  })
  expect(await stored()).toEqual({ owner: 'you', n: 0, text: 'one' })
})

it('objects of a view whose rows nothing can lock are written, inside of others and around them', async () => {
  class Grouped extends Model {
    static override tableName = 'notes_as_groups'
    static override relationMappings = () => ({
      folder: {
        relation: Model.BelongsToOneRelation,
        modelClass: FolderOfGroups,
        join: { from: 'notes_as_groups.folder_id', to: 'folders.id' },
      },
    })
  }
  class FolderOfGroups extends Model {
    static override tableName = 'folders'
    static override relationMappings = () => ({
      notes: {
        relation: Model.HasManyRelation,
        modelClass: Grouped,
        join: { from: 'folders.id', to: 'notes_as_groups.folder_id' },
      },
    })
  }
  for (const model of [Grouped, FolderOfGroups]) model.knex(database.knex)
  const around = modelSerializer(Grouped, {
    fields: ['id', 'text', 'folder'],
    declaredFields: { folder: new NestedSerializer(modelSerializer(FolderOfGroups, { fields: ['name'] })) },
  })
  const inside = modelSerializer(FolderOfGroups, {
    fields: ['id', 'notes'],
    declaredFields: {
      notes: new NestedSerializer(modelSerializer(Grouped, { fields: ['id', 'text'] }), { many: true }),
    },
  })
  const api = new APIRouter()
    .register('notes', modelViewSet(Grouped, { serializerClass: around }))
    .register('folders', modelViewSet(FolderOfGroups, { serializerClass: inside }))
  await api.prepare()
  const { send } = await serveApp(api.routes())
  await database.knex('notes').where({ id: 1 }).update({ folder_id: 1 })
  const renamed = await send('PATCH', '/notes/1', { text: 'two', folder: { name: 'drafts' } })
  expect([renamed.status, renamed.json]).toEqual([200, { id: 1, text: 'two', folder: { name: 'drafts' } }])
  const changed = await send('PATCH', '/folders/1', { notes: [{ id: 1, text: 'three' }] })
  expect([changed.status, changed.json]).toEqual([200, { id: 1, notes: [{ id: 1, text: 'three' }] }])
  expect((await stored()).text).toBe('three')
})
