import { describe, expect, it } from 'vitest'
import { nounOf, phraseOf, sentence } from '../../../lib/openapi/words.js'

describe('nounOf()', () => {
  it.each([
    ['book', 'book', 'a book', 'books'],
    ['author', 'author', 'an author', 'authors'],
    ['city_photo', 'city photo', 'a city photo', 'city photos'],
    ['city-feed', 'city feed', 'a city feed', 'city feeds'],
    ['person', 'person', 'a person', 'people'],
    ['country', 'country', 'a country', 'countries'],
  ])('calls objects of "%s" by words', (basename, one, any, many) => {
    expect(nounOf(basename)).toEqual({ one, any, many })
  })
})

describe('phraseOf()', () => {
  it.each([
    ['markRead', 'mark read'],
    ['mark_read', 'mark read'],
    ['mark-read', 'mark read'],
    ['publish', 'publish'],
    ['top10Books', 'top10 books'],
  ])('writes %s as words', (name, phrase) => {
    expect(phraseOf(name)).toBe(phrase)
  })
})

it('sentence() begins with a capital', () => {
  expect(sentence('mark read')).toBe('Mark read')
  expect(sentence('')).toBe('')
})
