import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type LinkParameter, PageLinks } from '../../../lib/pagination/links.js'

function pageLink(url: string, ...parameters: readonly LinkParameter[]): string {
  return new PageLinks(url).to(...parameters)
}

describe('pageLink', () => {
  it.each([
    ['/api/books?page=2&status=open', { page: '1' }, '/api/books?page=1&status=open'],
    ['/api/books?page=2&page=9&tag=x&tag=y', { page: '3' }, '/api/books?page=3&tag=x&tag=y'],
    [
      '/api/books?search=a%26b%3Dc+d&page_size=abc',
      { page: '2', page_size: null },
      '/api/books?search=a%26b%3Dc+d&page=2',
    ],
    ['/api/books?page_size=1000', { page: '2', page_size: '100' }, '/api/books?page_size=100&page=2'],
    [
      '/api/b%C3%BCcher.csv?title=%22%3E%3Cscript%3E',
      { page: '2' },
      '/api/b%C3%BCcher.csv?title=%22%3E%3Cscript%3E&page=2',
    ],
    ['/api/books?limit=5&offset=3', { limit: '5', offset: '0' }, '/api/books?limit=5&offset=0'],
    ['/api/books?a=~%20*-._%2B', { page: '2' }, '/api/books?a=%7E+*-._%2B&page=2'],
    ['http://evil.test/api/books?page=1', { page: '2' }, '/api/books?page=2'],
    ['//evil.test/api/books', { page: '2' }, '/evil.test/api/books?page=2'],
    ['/\\evil.test', { page: '2' }, '/%5Cevil.test?page=2'],
  ])('wire format, section 6: %s with %o', (url, parameters, link) => {
    expect(pageLink(url, ...Object.entries<string | null>(parameters))).toBe(link)
  })

  it.each([
    ['/api/books#part?page=1', { page: '2' }, '/api/books?page=2'],
    ['/api/books?page=1#part', { page: '2' }, '/api/books?page=2'],
    ['/api/books?cursor=x', { cursor: null }, '/api/books'],
    ['/api/books?', {}, '/api/books'],
    ['/api/books?a=1?b=2', {}, '/api/books?a=1%3Fb%3D2'],
    ['/api/books??page=1&?page=3', { page: '2' }, '/api/books?%3Fpage=1&%3Fpage=3&page=2'],
    ['/api/books?ordering=-price,id', { page: '2' }, '/api/books?ordering=-price%2Cid&page=2'],
    [
      '/api/books?p%61ge=1&page%5Bsize%5D=9',
      { page: '2', 'page[size]': 'ä' },
      '/api/books?page=2&page%5Bsize%5D=%C3%A4',
    ],
    ['/api/books?title=%zz', { page: '2' }, '/api/books?title=%25zz&page=2'],
    ['/api/books?flag', { page: '2' }, '/api/books?flag=&page=2'],
    ['/api/books', { cursor: 'a-_', page_size: '5' }, '/api/books?cursor=a-_&page_size=5'],
    ['HTTPS://user@evil.test:81', { page: '2' }, '/?page=2'],
    ['http://evil.test?page=1', { page: '2' }, '/?page=2'],
    ['http://evil.test\\@other.test/a', {}, '/%5C@other.test/a'],
    ['http:////evil.test/a', {}, '/evil.test/a'],
    ['///evil.test', {}, '/evil.test'],
    ['/api//books/', {}, '/api//books/'],
    ['/api/http://books', {}, '/api/http://books'],
    ['*', {}, '/*'],
    ['', {}, '/'],
  ])('writes %s with %o', (url, parameters, link) => {
    expect(pageLink(url, ...Object.entries<string | null>(parameters))).toBe(link)
  })

  it('stays on the host whatever the request target says', () => {
    const part = fc.constantFrom('/', '\\', ':', '?', '#', '@', '.', 'http', '//', 'evil.test', 'a', '%5C', '%2F')
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
        const link = pageLink(parts.join(''), ['page', '2'])
        expect(link).toMatch(/^\/(?!\/)/)
        expect(new URL(link, 'http://host.test').host).toBe('host.test')
      }),
      { numRuns: 500 },
    )
  })

  it('writes what URLSearchParams would', () => {
    const names = ['page', 'page_size', 'a.b', '*', 'page[x]', 'p%61ge', '%5Bpage%5D']
    const part = fc.constantFrom(...names, '=', '=1', '=a-_', '&', '&&', '%41', '%zz', '%2C', ',', '+', '~', '?', 'é')
    const size = fc.constantFrom('page_size', 'page[x]', '')
    fc.assert(
      fc.property(
        fc.array(part, { maxLength: 10 }),
        size,
        fc.constantFrom(null, '10', 'a,b é'),
        (parts, name, value) => {
          // a question mark that stands first is part of the name: only a URL's own is left out
          const searchParams = new URLSearchParams(`&${parts.join('')}`)
          searchParams.set('page', '2')
          if (value === null) searchParams.delete(name)
          else searchParams.set(name, value)
          const link = pageLink(`/books?${parts.join('')}`, ['page', '2'], [name, value])
          expect(link).toBe(`/books?${searchParams.toString()}`)
        },
      ),
      { numRuns: 5_000 },
    )
  })
})
