import { describe, expect, it } from 'vitest'
import {
  type BasePermission,
  type Context,
  HasScope,
  IsAdminUser,
  IsAuthenticated,
  IsAuthenticatedOrReadOnly,
  ModelPermission,
  ObjectPermission,
} from '../../../lib/index.js'

function request(method: string, state: object = {}): Context {
  return { method, state } as unknown as Context
}

const view = { action: 'list' }
const METHODS = ['GET', 'HEAD', 'OPTIONS', 'QUERY', 'POST', 'PUT', 'PATCH', 'DELETE']

async function passes(permission: BasePermission, method: string, state: object): Promise<boolean> {
  return permission.hasPermission(request(method, state), view)
}

/** Users that are nobody, by the one definition of anonymous. */
const nobody: [string, object][] = [
  ['no user', {}],
  ['undefined', { user: undefined }],
  ['null', { user: null }],
  ['false', { user: false }],
  ['an empty text', { user: '' }],
  ['zero', { user: 0 }],
  ['one that says isAnonymous', { user: { id: 1, is_staff: true, permissions: ['view_books'], isAnonymous: true } }],
  ['one that denies isAuthenticated', { user: { id: 1, is_staff: true, isAuthenticated: false } }],
]

describe('IsAuthenticated', () => {
  it.each(nobody)('[E23] refuses %s', async (_name, state) => {
    for (const method of METHODS) expect(await passes(new IsAuthenticated(), method, state)).toBe(false)
  })

  it.each([{}, { id: 1 }, { isAuthenticated: true }, 'alice', 7])('takes the user %j', async (user) => {
    expect(await passes(new IsAuthenticated(), 'DELETE', { user })).toBe(true)
  })
})

describe('IsAuthenticatedOrReadOnly', () => {
  it.each(METHODS)('for %s', async (method) => {
    const reading = ['GET', 'HEAD', 'OPTIONS', 'QUERY'].includes(method)
    for (const [, state] of nobody) expect(await passes(new IsAuthenticatedOrReadOnly(), method, state)).toBe(reading)
    expect(await passes(new IsAuthenticatedOrReadOnly(), method, { user: { id: 1 } })).toBe(true)
  })

  it('takes a method in capitals only, and no other for reading', async () => {
    for (const method of ['get', 'query', 'TRACE', 'PROPFIND']) {
      expect(await passes(new IsAuthenticatedOrReadOnly(), method, {})).toBe(false)
    }
  })
})

describe('IsAdminUser', () => {
  it.each(nobody)('[E23] refuses %s', async (_name, state) => {
    expect(await passes(new IsAdminUser(), 'GET', state)).toBe(false)
  })

  it.each([
    [{ is_staff: true }, true],
    [{ isStaff: true }, true],
    [{ is_staff: false }, false],
    [{ is_staff: false, isStaff: true }, false],
    [{ is_staff: 1 }, false],
    [{ is_staff: 'true' }, false],
    [{ isAdmin: true }, false],
    [{}, false],
    ['staff', false],
    [7, false],
  ])('of %j is %s', async (user, expected) => {
    expect(await passes(new IsAdminUser(), 'GET', { user })).toBe(expected)
  })
})

describe('ModelPermission', () => {
  const model = { tableName: 'books' }
  const permission = new ModelPermission({ model })
  const needed: [string, string | undefined][] = [
    ['GET', 'view_books'],
    ['HEAD', 'view_books'],
    ['OPTIONS', 'view_books'],
    ['QUERY', 'view_books'],
    ['POST', 'add_books'],
    ['PUT', 'change_books'],
    ['PATCH', 'change_books'],
    ['DELETE', 'delete_books'],
    ['TRACE', undefined],
    ['get', undefined],
    ['constructor', undefined],
  ]

  it.each(needed)('5 %s needs %s', async (method, name) => {
    const all = ['view_books', 'add_books', 'change_books', 'delete_books']
    for (const held of all) {
      const user = { permissions: [held] }
      expect(await passes(permission, method, { user })).toBe(held === name)
    }
  })

  it.each<[string, unknown, boolean]>([
    ['hasPermission()', { hasPermission: (name: string) => name === 'view_books' }, true],
    ['an asynchronous hasPermission()', { hasPermission: async (name: string) => name === 'view_books' }, true],
    [
      'hasPermission() of its class',
      new (class {
        #names = ['view_books']
        hasPermission(name: string) {
          return this.#names.includes(name)
        }
      })(),
      true,
    ],
    [
      'hasPermission() that says no, though permissions says yes',
      { hasPermission: () => false, permissions: ['view_books'] },
      false,
    ],
    ['hasPermission() that says something', { hasPermission: () => 'yes' }, false],
    ['hasPermission() that says something later', { hasPermission: async () => 1 }, false],
    ['an array', { permissions: ['add_books', 'view_books'] }, true],
    ['a Set', { permissions: new Set(['view_books']) }, true],
    ['an empty array', { permissions: [] }, false],
    ['a text', { permissions: 'view_books' }, false],
    ['an object', { permissions: { view_books: true } }, false],
    ['a Map', { permissions: new Map([['view_books', true]]) }, false],
    ['permissions of another table', { permissions: ['view_authors', 'view_books2', 'VIEW_BOOKS'] }, false],
    ['nothing', {}, false],
    ['staff', { is_staff: true }, false],
    ['a text as user', 'view_books', false],
    ['an anonymous user with permissions', { isAnonymous: true, permissions: ['view_books'] }, false],
  ])('[E23] a user with %s', async (_name, user, expected) => {
    expect(await passes(permission, 'GET', { user })).toBe(expected)
  })

  it('[E23] lets the error of a user rise', async () => {
    const user = { hasPermission: () => Promise.reject(new Error('away')) }
    await expect(passes(permission, 'GET', { user })).rejects.toThrow('away')
  })

  it('[E23] without a model is a ConfigurationError, before any request and at one', async () => {
    const message = /ModelPermission needs a model; set static model, or give new ModelPermission\(\{ model \}\)/
    expect(() => new ModelPermission().check({ name: 'Report' })).toThrow(/^Report: /)
    expect(() => new ModelPermission().check({ name: 'Report' })).toThrow(message)
    await expect(passes(new ModelPermission(), 'GET', { user: { permissions: ['view_books'] } })).rejects.toThrow(
      message,
    )
  })

  it('may name its permissions otherwise', async () => {
    class Own extends ModelPermission {
      override permissionName({ method }: Context, table: string) {
        return method === 'GET' ? undefined : `${table}:write`
      }
    }
    const user = { permissions: ['books:write', 'undefined'] }
    expect(await passes(new Own({ model }), 'POST', { user })).toBe(true)
    expect(await passes(new Own({ model }), 'GET', { user })).toBe(false)
  })
})

describe('ObjectPermission', () => {
  const owns = (owner: unknown, id: unknown) =>
    new ObjectPermission().hasObjectPermission(request('PATCH', { user: { id } }), view, { owner_id: owner })

  it.each([
    [1, 1, true],
    [1, '1', true],
    ['1', 1, true],
    [1n, '1', true],
    [9007199254740993n, '9007199254740993', true],
    ['a0eebc99', 'a0eebc99', true],
    [1, 2, false],
    [1, '1 ', false],
    [1, '01', false],
    [1, '1.0', false],
    [1, true, false],
    [true, true, false],
    ['true', true, false],
    [0, false, false],
    [0, '', false],
    ['', '', false],
    [1.5, 1.5, false],
    [9007199254740992, '9007199254740993', false],
    [Number.NaN, Number.NaN, false],
    ['null', null, false],
    ['undefined', undefined, false],
    [[1], 1, false],
    [{}, {}, false],
  ])('[E6] an owner %o and a user %o: %s', (owner, id, expected) => {
    expect(owns(owner, id)).toBe(expected)
  })

  it.each([null, undefined])('[E5] an owner %s is nobody', (owner) => {
    for (const id of [null, undefined, 0, '', 'null', 'undefined', 1]) expect(owns(owner, id)).toBe(false)
  })

  it.each(nobody)('[E5] %s owns nothing', (_name, state) => {
    const rule = new ObjectPermission()
    for (const owner of [null, undefined, 1, '', false]) {
      expect(rule.hasObjectPermission(request('PATCH', state), view, { owner_id: owner })).toBe(false)
    }
  })

  it('takes another field, as an option or an override', () => {
    class Own extends ObjectPermission {
      override readonly ownerField = 'author_id'
    }
    for (const rule of [new Own(), new ObjectPermission({ ownerField: 'author_id' })]) {
      const ask = (object: object) => rule.hasObjectPermission(request('PATCH', { user: { id: 1 } }), view, object)
      expect([ask({ author_id: 1 }), ask({ owner_id: 1 })]).toEqual([true, false])
    }
  })

  it('[E8] says nothing of lists', async () => {
    expect(await passes(new ObjectPermission(), 'GET', {})).toBe(true)
  })
})

describe('HasScope', () => {
  const rule = new HasScope('read:books', 'read:authors')

  it.each<[string, unknown, boolean]>([
    ['all', { scopes: ['read:authors', 'read:books', 'x'] }, true],
    ['all, in a Set', { scopes: new Set(['read:authors', 'read:books']) }, true],
    ['some', { scopes: ['read:books'] }, false],
    ['none', { scopes: [] }, false],
    ['a text', { scopes: 'read:books read:authors' }, false],
    ['no scopes', { scheme: 'Session' }, false],
    ['null', null, false],
    ['nothing', undefined, false],
    ['a text as auth', 'read:books', false],
  ])('of credentials with %s', async (_name, auth, expected) => {
    expect(await passes(rule, 'GET', { user: { id: 1 }, auth })).toBe(expected)
  })

  it('may find them elsewhere', async () => {
    class Own extends HasScope {
      override getScopes(ctx: Context) {
        return new Set(String(ctx.state['user']?.scope).split(' '))
      }
    }
    expect(await passes(new Own('a'), 'GET', { user: { scope: 'a b' } })).toBe(true)
  })

  it('[I23] names at least one scope', () => {
    expect(() => Reflect.construct(HasScope, [])).toThrow(/HasScope: name at least one scope/)
  })
})
