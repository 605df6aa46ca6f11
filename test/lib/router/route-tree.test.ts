import { describe, expect, it, vi } from 'vitest'
import { parsePattern } from '../../../lib/kernel/path-pattern.js'
import { RouteTree, writePattern } from '../../../lib/router/route-table.js'

function treeOf(...patterns: string[]): RouteTree<string> {
  const tree = new RouteTree<string>()
  for (const pattern of patterns) tree.add(parsePattern(pattern), pattern)
  return tree
}

describe('RouteTree', () => {
  it.each([
    ['/', [''], '', {}],
    ['/books', ['books', '{x}'], 'books', {}],
    ['/books/', ['books'], 'books', {}],
    ['/books/7', ['books/{id:int}'], 'books/{id:int}', { id: '7' }],
    ['/books/7/', ['books/{id:int}'], 'books/{id:int}', { id: '7' }],
    ['/a/b/c', ['a/{rest:path}'], 'a/{rest:path}', { rest: 'b/c' }],
    ['/a/b%20c', ['a/{name}'], 'a/{name}', { name: 'b c' }],
    ['/b%C3%BCcher', ['bücher'], 'bücher', {}],
    ['/b%c3%bccher', ['bücher'], 'bücher', {}],
  ])('%s of %j is %s with %j', (path, patterns, value, params) => {
    expect(treeOf(...patterns).find(path)).toEqual({ value, params })
  })

  it.each(['/nothing', '/books/7/8', '/books//', '//books', '/books/x', '/books/', 'books/7'])(
    'has nothing at %s',
    (path) => {
      expect(treeOf('books/{id:int}').find(path)).toBeUndefined()
    },
  )

  it('prefers a fixed segment, whatever came first', () => {
    for (const patterns of [
      ['books/{id}', 'books/bulk'],
      ['books/bulk', 'books/{id}'],
    ]) {
      const tree = treeOf(...patterns)
      expect(tree.find('/books/bulk')?.value).toBe('books/bulk')
      expect(tree.find('/books/bulkx')).toEqual({ value: 'books/{id}', params: { id: 'bulkx' } })
    }
    expect(treeOf('books/{id:int}', 'books/bulk').find('/books/bulkx')).toBeUndefined()
  })

  it('takes the earlier of two parameters that fit, and the other when it does not', () => {
    const tree = treeOf('{id:int}', '{name}')
    expect(tree.find('/7')).toEqual({ value: '{id:int}', params: { id: '7' } })
    expect(tree.find('/x')).toEqual({ value: '{name}', params: { name: 'x' } })
  })

  it('goes back from a branch that leads nowhere, and keeps none of its parameters', () => {
    const tree = treeOf('a/{x}/c', '{first}/b/d', 'a/b/e')
    expect(tree.find('/a/b/c')).toEqual({ value: 'a/{x}/c', params: { x: 'b' } })
    expect(tree.find('/a/b/d')).toEqual({ value: '{first}/b/d', params: { first: 'a' } })
    expect(tree.find('/a/b/e')).toEqual({ value: 'a/b/e', params: {} })
    expect(tree.find('/a/b/f')).toBeUndefined()
  })

  it('shares a parameter between routes, and tells another name or hint apart', () => {
    const tree = treeOf('authors/{id:int}', 'authors/{author_id:int}/books', 'authors/{id}')
    expect(tree.find('/authors/1/books')?.params).toEqual({ author_id: '1' })
    expect(tree.find('/authors/1')).toEqual({ value: 'authors/{id:int}', params: { id: '1' } })
    expect(tree.find('/authors/x')).toEqual({ value: 'authors/{id}', params: { id: 'x' } })
  })

  it('returns the route that has a pattern already', () => {
    const tree = treeOf('books/{id:int}')
    expect(tree.add(parsePattern('books/{id:int}'), 'other')).toBe('books/{id:int}')
    expect(tree.find('/books/1')?.value).toBe('books/{id:int}')
  })

  it('is not fooled by names that objects have', () => {
    const tree = treeOf('books')
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      expect(tree.find(`/${name}`)).toBeUndefined()
    }
    expect(treeOf('{__proto__}').find('/x')?.value).toBe('{__proto__}')
  })

  it('costs the same steps with 1,000 resources as with one', () => {
    const resources = (count: number) =>
      treeOf(...Array.from({ length: count }, (_, i) => [`api/r${i}`, `api/r${i}/{id:int}`]).flat())
    const steps = (tree: RouteTree<string>, path: string) => {
      const get = vi.spyOn(Map.prototype, 'get')
      const test = vi.spyOn(RegExp.prototype, 'test')
      tree.find(path)
      const counts = [get.mock.calls.length, test.mock.calls.length]
      vi.restoreAllMocks()
      return counts
    }
    const [one, thousand] = [resources(1), resources(1000)]
    for (const path of ['/api/r0/7', '/api/r0', '/api/nothing', '/api/r0/x', '/']) {
      expect(steps(thousand, path)).toEqual(steps(one, path))
    }
    expect(steps(thousand, '/api/r999/7')).toEqual(steps(one, '/api/r0/7'))
    expect(steps(one, '/api/r0/7')).toEqual([3, 1])
  })

  it('takes a path of 100,000 segments without recursion', () => {
    const tree = treeOf('{a}/{b}/{c}', 'x/{rest:path}')
    expect(tree.find('/a'.repeat(100_000))).toBeUndefined()
    expect(tree.find(`/x${'/a'.repeat(100_000)}`)?.params['rest']).toHaveLength(199_999)
  })
})

describe('writePattern', () => {
  it.each(['/', '/books', '/books/{id:int}', '/a/{name}/{rest:path}', '/bücher/{uid:uuid}/{s:slug}'])(
    '%s',
    (pattern) => {
      expect(writePattern(parsePattern(pattern))).toBe(pattern)
    },
  )
})
