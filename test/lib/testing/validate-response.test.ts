/** The judge of responses finds each fault that is planted, and none that is not there. */
import { describe, expect, it } from 'vitest'
import { type Exchange, validateResponse } from '../../../lib/testing/validate-response.js'

const json = { 'content-type': 'application/json; charset=utf-8' }
const error = { $ref: '#/components/responses/Gone' }

const document = {
  openapi: '3.1.0',
  paths: {
    '/books': {
      get: {
        parameters: [{ name: 'fields', in: 'query', 'x-selects-fields': true }],
        responses: {
          '200': {
            description: 'ok',
            content: {
              'application/json': { schema: { $ref: '#/components/schemas/Page' } },
              'text/csv': { schema: { type: 'string' } },
            },
          },
          '404': error,
        },
      },
      post: {
        responses: {
          '201': {
            description: 'made',
            headers: { Location: { required: true, schema: { type: 'string', pattern: '^/books/' } } },
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Book' } } },
          },
          '4XX': error,
        },
      },
    },
    '/books/{id}': {
      get: {
        parameters: [{ name: 'fields', in: 'query', 'x-selects-fields': true }],
        responses: {
          '200': {
            description: 'ok',
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Book' } } },
          },
          '304': { description: 'same' },
        },
      },
      delete: { responses: { '204': { description: 'gone' }, '429': { $ref: '#/components/responses/Busy' } } },
    },
    '/files/{rest}': {
      get: {
        parameters: [{ name: 'rest', in: 'path', 'x-takes-rest': true }],
        responses: { '200': { description: 'ok', content: { 'application/json': { schema: { type: 'object' } } } } },
      },
    },
    '/files/{id}/tags': {
      get: {
        responses: { '200': { description: 'ok', content: { 'application/json': { schema: { type: 'array' } } } } },
      },
    },
    '/books/bulk': { patch: { responses: { '200': { description: 'ok', content: { 'application/json': {} } } } } },
    '/races': {
      get: {
        parameters: [{ name: 'fields', in: 'query', 'x-selects-fields': true }],
        responses: {
          '200': {
            description: 'ok',
            content: {
              'application/json': { schema: { type: 'array', items: { $ref: '#/components/schemas/Race' } } },
            },
          },
        },
      },
    },
    '/a~b/{x}/é': { get: { responses: { '204': { description: 'ok' } } } },
  },
  components: {
    schemas: {
      Book: {
        type: 'object',
        properties: {
          id: { type: 'integer', format: 'int32' },
          created: { type: ['string', 'null'], format: 'date-time' },
          author: { anyOf: [{ $ref: '#/components/schemas/Author' }, { type: 'null' }] },
        },
        required: ['id', 'created'],
      },
      Author: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
      Race: {
        type: 'object',
        properties: { id: { type: 'integer' }, results: { $ref: '#/components/schemas/Author' } },
        required: ['id'],
      },
      Page: {
        type: 'object',
        properties: { next: {}, results: { type: 'array', items: { $ref: '#/components/schemas/Book' } } },
        required: ['next', 'results'],
      },
    },
    responses: {
      Gone: {
        description: 'gone',
        content: {
          'application/json': {
            schema: { type: 'object', properties: { status: { type: 'integer' } }, required: ['status'] },
          },
        },
      },
      Busy: {
        description: 'busy',
        headers: { 'Retry-After': { $ref: '#/components/headers/Wait' } },
        content: { 'application/json': {} },
      },
    },
    headers: { Wait: { required: true, schema: { type: 'integer', minimum: 1 } } },
  },
}

const book = { id: 1, created: '2026-03-28T15:30:00.123456Z', author: { name: 'Ada' } }
const problems = (exchange: Partial<Exchange>) =>
  validateResponse(document, { method: 'GET', path: '/books/1', status: 200, headers: json, body: book, ...exchange })

describe('a response that is as the document says', () => {
  it.each<[string, Partial<Exchange>]>([
    ['an object', {}],
    ['null where it may be', { body: { ...book, created: null, author: null } }],
    ['the last day that PostgreSQL has', { body: { ...book, created: '5874897-12-31T00:00:00' } }],
    ['more than was promised', { body: { ...book, kind: 'book' } }],
    ['a page', { path: '/books', body: { next: null, results: [book, book] } }],
    ['a query string', { path: '/books?page=2', body: { next: null, results: [] } }],
    ['a slash at the end', { path: '/books/1/' }],
    [
      'a format suffix',
      { path: '/books.csv', headers: { 'Content-Type': 'text/csv; charset=utf-8' }, body: 'id\r\n1\r\n' },
    ],
    ['a created object', { method: 'POST', path: '/books', status: 201, headers: { ...json, location: '/books/1' } }],
    ['an error', { path: '/books', status: 404, body: { status: 404 } }],
    ['a range of statuses', { method: 'post', path: '/books', status: 418, body: { status: 418 } }],
    ['nothing', { method: 'DELETE', status: 204, headers: {}, body: undefined }],
    ['a 304', { status: 304, headers: {}, body: '' }],
    ['HEAD', { method: 'HEAD', body: '' }],
    ['a path of which a parameter takes the rest', { path: '/files/a/b.txt', body: {} }],
    ['a path beside it', { path: '/files/a/tags', body: [] }],
    ['a body that nothing is said of', { method: 'PATCH', path: '/books/bulk', body: [1, null] }],
    ['a path with characters of JSON pointers', { path: '/a~b/1/é', status: 204, headers: {}, body: undefined }],
    ['fields left out of an object', { path: '/books/1?fields=id', body: { id: 1 } }],
    [
      'fields left out of objects that have results',
      { path: '/races?fields=results', body: [{ results: { name: 'x' } }] },
    ],
    ['fields left out of a page', { path: '/books?fields=id', body: { next: null, results: [{ id: 1 }] } }],
    ['a limit', { method: 'DELETE', status: 429, headers: { ...json, 'retry-after': '7' }, body: {} }],
    [
      'another method',
      { method: 'PUT', status: 405, headers: { ...json, allow: 'GET, DELETE, HEAD, OPTIONS' }, body: {} },
    ],
    ['OPTIONS', { method: 'OPTIONS', body: {} }],
  ])('has no problems: %s', (_, exchange) => {
    expect(problems(exchange)).toEqual([])
  })
})

describe('a planted fault', () => {
  it.each<[string, Partial<Exchange>, string]>([
    ['a path', { path: '/authors' }, 'GET /authors: 200: the document has no such path'],
    ['a deeper path', { path: '/books/1/2' }, 'no such path'],
    ['a status', { status: 202 }, 'GET /books/1: 202: the document has no such status'],
    ['a method', { method: 'PUT' }, 'the document has no such method, so it should be 405'],
    ['a 405 without Allow', { method: 'PUT', status: 405 }, 'there is no Allow'],
    ['OPTIONS that fails', { method: 'OPTIONS', status: 500 }, 'OPTIONS must not fail'],
    ['a media type', { headers: { 'content-type': 'text/html' } }, 'no body of the type "text/html"'],
    ['no media type', { headers: {} }, 'no body of the type ""'],
    ['a missing member', { body: { id: 1 } }, "the body must have required property 'created'"],
    ['a type', { body: { ...book, id: '1' } }, '/id must be integer'],
    ['a number too large', { body: { ...book, id: 2 ** 31 } }, '/id must match format "int32"'],
    ['a format', { body: { ...book, created: 'yesterday' } }, '/created must match format "date-time"'],
    ['null', { body: { ...book, id: null } }, '/id must be integer'],
    ['a nested object', { body: { ...book, author: {} } }, "/author must have required property 'name'"],
    ['an item of a page', { path: '/books', body: { next: null, results: [{}] } }, '/results/0 must have'],
    ['no body', { body: undefined }, 'the body must be object'],
    ['a body where there is none', { method: 'DELETE', status: 204, body: { x: 1 } }, 'no body for this status'],
    ['a header', { method: 'POST', path: '/books', status: 201 }, 'there is no Location'],
    [
      'a wrong header',
      { method: 'POST', path: '/books', status: 201, headers: { ...json, Location: '/x' } },
      'Location: ',
    ],
    [
      'a wrong number in a header',
      { method: 'DELETE', status: 429, headers: { ...json, 'Retry-After': '0' } },
      'Retry-After: ',
    ],
    [
      'no number in a header',
      { method: 'DELETE', status: 429, headers: { ...json, 'Retry-After': 'x' } },
      'Retry-After: ',
    ],
    ['an envelope without a member, with fields', { path: '/books?fields=id', body: { results: [] } }, "'next'"],
    ['a wrong value, with fields', { path: '/books/1?fields=id', body: { id: 'x' } }, '/id must be integer'],
    ['fields of a nested object, with fields', { path: '/books/1?fields=author', body: { author: {} } }, "'name'"],
  ])('is found: %s', (_, exchange, problem) => {
    const found = problems(exchange)
    expect(found.join('\n')).toContain(problem)
  })

  it('does not stop the search for others', () => {
    expect(problems({ body: { id: 'x', created: 1 } })).toHaveLength(2)
  })
})
