/** What permissions tell the document of anonymous callers is what they do with one. */
import { describe, expect, it } from 'vitest'
import {
  AllowAny,
  and,
  BasePermission,
  type Context,
  HasScope,
  IsAdminUser,
  IsAuthenticated,
  IsAuthenticatedOrReadOnly,
  ModelPermission,
  not,
  ObjectPermission,
  or,
} from '../../../lib/index.js'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
const model = { tableName: 'books' } as never
const view = { action: 'list', viewClass: { name: 'Books', modelClass: () => model } } as never

describe('a permission of ours', () => {
  const simple = [
    new AllowAny(),
    new IsAuthenticated(),
    new IsAdminUser(),
    new IsAuthenticatedOrReadOnly(),
    new HasScope('read'),
    new ModelPermission({ model }),
    new ObjectPermission(),
  ]
  const composed = simple.flatMap((one) => [
    not(one),
    ...simple.flatMap((other) => [and(one, other), or(one, other), not(and(one, not(other))), or(not(one), other)]),
  ])

  it.each(METHODS)('says of %s what it does', async (method) => {
    const ctx = { method, state: {} } as unknown as Context
    for (const permission of [...simple, ...composed]) {
      expect(permission.admitsAnonymous(method)).toBe(await permission.hasPermission(ctx, view))
    }
  })
})

describe('a permission of the application', () => {
  class Unknown extends BasePermission {
    override hasPermission() {
      return false
    }
  }
  class OfObjects extends BasePermission {
    override hasObjectPermission() {
      return false
    }
  }

  it.each<[string, BasePermission, boolean | undefined]>([
    ['cannot say', new Unknown(), undefined],
    ['cannot say turned round', not(Unknown), undefined],
    ['leaves the request open when it looks at objects only', new OfObjects(), true],
    ['leaves it to the other', and(Unknown, AllowAny), undefined],
    ['is refused by the other', and(Unknown, IsAuthenticated), false],
    ['is let pass by the other', or(Unknown, AllowAny), true],
    ['is not needed', or(Unknown, IsAuthenticated), undefined],
  ])('%s', (_, permission, told) => {
    expect(permission.admitsAnonymous('GET')).toBe(told)
  })
})
