import { describe, expect, it } from 'vitest'
import { AllowAny, and, BasePermission, type Context, type GuardedView, not, or } from '../../../lib/index.js'

const ctx = { state: {} } as Context
const view: GuardedView = { action: 'retrieve' }
const object = {}
const bits = [false, true]

/** Answers as told, now or later. */
function permission(has: boolean, objects: boolean, options: { late?: boolean } = {}): BasePermission {
  const answer = (value: boolean) => (options.late ? Promise.resolve(value) : value)
  return new (class extends BasePermission {
    override hasPermission() {
      return answer(has)
    }
    override hasObjectPermission() {
      return answer(objects)
    }
  })()
}

function ofRequests(has: boolean): BasePermission {
  return new (class extends BasePermission {
    override hasPermission() {
      return has
    }
  })()
}

function ofObjects(objects: boolean): BasePermission {
  return new (class extends BasePermission {
    override async hasObjectPermission() {
      return objects
    }
  })()
}

/** What a request for a list, and one for an object, gets in the end. */
async function decide(rule: BasePermission): Promise<{ list: boolean; object: boolean }> {
  const list = await rule.hasPermission(ctx, view)
  return { list, object: list && (await rule.hasObjectPermission(ctx, view, object)) }
}

/** Every pair of answers of two permissions: A.has, A.object, B.has, B.object. */
const table = bits.flatMap((a) =>
  bits.flatMap((ao) => bits.flatMap((b) => bits.map((bo) => [a, ao, b, bo] as [boolean, boolean, boolean, boolean]))),
)

describe.each([false, true])('with answers that come late: %s', (late) => {
  it.each(table)('[E7] A %s, its object %s, B %s, its object %s', async (a, ao, b, bo) => {
    const A = permission(a, ao, { late })
    const B = permission(b, bo, { late: !late })
    const both = and(A, B)
    expect(await both.hasPermission(ctx, view)).toBe(a && b)
    expect(await both.hasObjectPermission(ctx, view, object)).toBe(ao && bo)
    const either = or(A, B)
    expect(await either.hasPermission(ctx, view)).toBe(a || b)
    expect(await either.hasObjectPermission(ctx, view, object)).toBe((a && ao) || (b && bo))
    const opposite = not(A)
    expect(await opposite.hasPermission(ctx, view)).toBe(!a)
    expect(await opposite.hasObjectPermission(ctx, view, object)).toBe(!ao)
    // nested: what is said of one is never mixed with what is said of another
    expect(await decide(or(and(A, B), not(B)))).toEqual({
      list: (a && b) || !b,
      object: (a && b && ao && bo) || (!b && !bo),
    })
    expect(await decide(and(or(A, B), A))).toEqual({ list: a, object: a && ((a && ao) || (b && bo)) && ao })
    expect(await decide(not(not(A)))).toEqual({ list: a, object: a && ao })
    expect(await decide(not(or(A, B)))).toEqual(await decide(and(not(A), not(B))))
    expect(await decide(not(and(A, B)))).toEqual(await decide(or(not(A), not(B))))
  })
})

describe('not()', () => {
  it.each(bits)('[E7] leaves the half open that a permission does not have (%s)', async (value) => {
    expect(await decide(not(ofRequests(value)))).toEqual({ list: !value, object: !value })
    expect(await decide(not(ofObjects(value)))).toEqual({ list: true, object: !value })
  })

  it.each(bits.flatMap((a) => bits.map((b) => [a, b] as const)))(
    '[E7] of composed permissions is right for lists and objects (%s, %s)',
    async (a, b) => {
      expect(await decide(not(or(ofRequests(a), ofObjects(b))))).toEqual({ list: !a, object: !a && !b })
      expect(await decide(not(and(ofRequests(a), ofObjects(b))))).toEqual({ list: true, object: !a || !b })
    },
  )

  it('[E23] of AllowAny lets nobody pass', async () => {
    expect(await decide(not(AllowAny))).toEqual({ list: false, object: false })
    expect(await decide(not(not(AllowAny)))).toEqual({ list: true, object: true })
  })
})

describe('every operator', () => {
  it.each([undefined, null, 0, 1, '', 'yes', {}, 'false'])(
    '[E23] takes only true and false: %j lets nobody pass',
    async (answer) => {
      class Odd extends BasePermission {
        override hasPermission() {
          return answer as never
        }
        override hasObjectPermission() {
          return answer as never
        }
      }
      for (const rule of [and(Odd), or(Odd), not(Odd), not(not(not(Odd)))]) {
        expect(await rule.hasPermission(ctx, view)).toBe(false)
        expect(await rule.hasObjectPermission(ctx, view, object)).toBe(false)
      }
    },
  )

  it('[E23] lets an error through', async () => {
    class Broken extends BasePermission {
      override hasPermission(): boolean {
        throw new Error('no such table')
      }
    }
    for (const rule of [and(Broken, AllowAny), or(Broken, AllowAny), not(Broken)]) {
      await expect(rule.hasPermission(ctx, view)).rejects.toThrow('no such table')
    }
  })

  it('asks no further than it must', async () => {
    class Never extends BasePermission {
      override hasPermission(): boolean {
        throw new Error('was asked')
      }
    }
    expect(await or(AllowAny, Never).hasPermission(ctx, view)).toBe(true)
    expect(await and(not(AllowAny), Never).hasPermission(ctx, view)).toBe(false)
  })

  it('[E7] takes classes and instances, one or many', async () => {
    expect(await decide(and(AllowAny, new AllowAny(), or(AllowAny)))).toEqual({ list: true, object: true })
  })

  it.each([
    ['and() without permissions', () => and(), /and\(\): give at least one permission/],
    ['or() without permissions', () => or(), /or\(\): give at least one permission/],
    ['and() of what is none', () => and(Map as never), /and\(\)\[0\]: has no method hasPermission\(\)/],
    ['not() of what is none', () => not({} as never), /not\(\): has no method hasPermission\(\)/],
  ])('[I23] %s is a ConfigurationError', (_name, make, message) => {
    expect(make).toThrow(message)
  })
})

describe('guardsObjects()', () => {
  const request = ofRequests(true)
  const objects = ofObjects(true)
  it.each([
    ['a permission of requests', request, false],
    ['a permission of objects', objects, true],
    ['AllowAny', new AllowAny(), false],
    ['and, or, not of requests', and(or(request, request), not(request)), false],
    ['and with one of objects', and(request, objects), true],
    ['or with one of objects', or(request, and(request, objects)), true],
    ['not of one of objects', not(or(request, objects)), true],
  ])('of %s is %s', (_name, rule, expected) => {
    expect(rule.guardsObjects()).toBe(expected)
  })
})
