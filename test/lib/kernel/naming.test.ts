import { describe, expect, it } from 'vitest'
import { hyphenate, pascalCase, singularize, snakeCase } from '../../../lib/kernel/naming.js'

describe('the spellings of a name', () => {
  it.each([
    // name, snakeCase, hyphenate, pascalCase
    ['publish', 'publish', 'publish', 'Publish'],
    ['markRead', 'mark_read', 'mark-read', 'MarkRead'],
    ['mark_read', 'mark_read', 'mark-read', 'MarkRead'],
    ['mark-read', 'mark_read', 'mark-read', 'MarkRead'],
    ['BookViewSet', 'book_view_set', 'book-view-set', 'BookViewSet'],
    ['getHTTPStatus', 'get_http_status', 'get-http-status', 'GetHTTPStatus'],
    ['ISBN', 'isbn', 'isbn', 'ISBN'],
    ['iso2Code', 'iso2_code', 'iso2-code', 'Iso2Code'],
    ['address_2', 'address_2', 'address-2', 'Address2'],
    ['author__name', 'author_name', 'author-name', 'AuthorName'],
    ['_hidden', 'hidden', 'hidden', 'Hidden'],
    ['großeStädte', 'große_städte', 'große-städte', 'GroßeStädte'],
    ['', '', '', ''],
  ])('writes %j', (name, snake, hyphenated, pascal) => {
    expect([snakeCase(name), hyphenate(name), pascalCase(name)]).toEqual([snake, hyphenated, pascal])
  })
})

describe('singularize', () => {
  it.each([
    ['books', 'book'],
    ['public.books', 'book'],
    ['city_photos', 'city_photo'],
    ['shop.city_photos', 'city_photo'],
    ['countries', 'country'],
    ['addresses', 'address'],
    ['people', 'person'],
    ['sales_people', 'sales_person'],
    ['cityPhotos', 'cityPhoto'],
    ['news', 'news'],
    ['book', 'book'],
  ])('%s → %s', (table, row) => {
    expect(singularize(table)).toBe(row)
  })
})
