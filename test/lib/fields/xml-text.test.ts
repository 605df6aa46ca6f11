import { describe, expect, it } from 'vitest'
import { checkXml } from '../../../lib/fields/xml-text.js'
import { ValidationError } from '../../../lib/kernel/errors.js'
import { messagesOf } from './refusal.js'

const attributes = (count: number) => Array.from({ length: count }, (_, index) => ` a${index}=""`).join('')

describe('checkXml()', () => {
  it.each([
    '',
    'text > "text"',
    '<a/>text<é.-1 x = "\'" y=\'"\' xml:space="preserve"></é.-1 >',
    '<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE a SYSTEM "a.dtd"><a>&lt;&#65;&#x1F600;&apos;</a>',
    '<!DOCTYPE a PUBLIC "-//A" \'a.dtd\' ><a/>',
    '<?xml-stylesheet href="a"?><!-- - < & --><![CDATA[ < & ]] ]]><a:b xmlns:a="c" a:d="&amp;"/>',
    `<a${attributes(1_000)}/>`,
  ])('takes %s', (text) => {
    expect(() => checkXml(text)).not.toThrow()
  })

  it.each([
    ['an open element', '<a>'],
    ['an element that ends another one', '<a><b></a></b>'],
    ['an end of none', '</a>'],
    ['a name that is none', '<1/>'],
    ['an attribute twice', '<a b="" b=""/>'],
    ['attributes without space', '<a b=""c=""/>'],
    ['an attribute without value', '<a b/>'],
    ['a value without quotation marks', '<a b=c/>'],
    ['an element in a value', '<a b="<"/>'],
    ['an ampersand', 'a & b'],
    ['an ampersand in a value', '<a b="&"/>'],
    ['a reference that does not end', '&lt &amp'],
    ['a reference to nothing', '&;'],
    ['a number of no character', '&#0;'],
    ['a number of a half character', '&#xD800;'],
    ['a number beyond all characters', '&#x110000;'],
    ['a number in capitals', '&#X41;'],
    ['a control character', 'a\u0001'],
    ['an open comment', '<!-- a'],
    ['two hyphens in a comment', '<!-- a -- b -->'],
    ['an open CDATA section', '<![CDATA[ a'],
    ['the end of a CDATA section', 'a ]]> b'],
    ['an open instruction', '<?a b'],
    ['an instruction of a reserved name', '<?xmlx?>'],
    ['a declaration that is not at the beginning', '<a/><?xml version="1.0"?>'],
    ['a declaration of something else', '<!a>'],
    ['a document type without a name', '<!DOCTYPE>'],
    ['two document types', '<!DOCTYPE a><!DOCTYPE a><a/>'],
    ['spaces that are neither kept nor not', '<a xml:space="no"/>'],
  ])('refuses %s', async (_what, text) => {
    expect(await messagesOf(() => checkXml(text))).toEqual(['Invalid value.'])
  })

  it.each(['<!DOCTYPE a [<!ENTITY b "c">]><a/>', '<!DOCTYPE a SYSTEM "b" [', '<a>&nbsp;</a>', '<a b="&c;"/>'])(
    'refuses the entities of %s',
    async (text) => {
      expect(await messagesOf(() => checkXml(text))).toEqual(['Entities are not allowed.'])
    },
  )

  it('refuses more attributes than PostgreSQL can compare', async () => {
    expect(await messagesOf(() => checkXml(`<a${attributes(1_001)}/>`))).toEqual([
      'Ensure this field has no more than 1000 attributes.',
    ])
  })

  it.each(['<', '&', '<a ', '<!--', '<?a ', '<a b="', '&#', '<!DOCTYPE a', '</', "<a b='"])(
    'takes no longer than a text of %s is',
    (part) => {
      const start = process.cpuUsage().user
      expect(() => checkXml(part.repeat(200_000))).toThrow(ValidationError)
      expect((process.cpuUsage().user - start) / 1_000).toBeLessThan(5_000)
    },
  )
})
