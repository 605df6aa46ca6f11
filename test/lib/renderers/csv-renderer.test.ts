import { parse } from 'secure-json-parse'
import { describe, expect, it } from 'vitest'
import {
  IntegerField,
  JSONField,
  NestedSerializer,
  Serializer,
  type SerializerClass,
  StringField,
} from '../../../lib/index.js'
import { CSVRenderer } from '../../../lib/renderers/csv-renderer.js'
import { JsonText } from '../../../lib/renderers/json-renderers.js'
import { nameColumns } from '../../../lib/renderers/renderer.js'

const renderer = new CSVRenderer()
const named = (rows: object, ...names: string[]) =>
  nameColumns(
    rows,
    names.map((name) => ({ name })),
  )

describe('cells', () => {
  it.each<[string, unknown, string]>([
    ['a formula', '=1+1', "'=1+1"],
    ['a telephone number', '+49 30 1', "'+49 30 1"],
    ['a mention', '@x', "'@x"],
    ['a full-width sign', '＝1', "'＝1"],
    ['a full-width plus', '＋1', "'＋1"],
    ['a full-width minus', '－1', "'－1"],
    ['a full-width at', '＠x', "'＠x"],
    ['a line feed first', '\nx', `"'\nx"`],
    ['a carriage return first', '\r=x', `"'\r=x"`],
    ['a tab first', '\t=1', `"'\t=1"`],
    ['a negative decimal', '-1.50', '-1.50'],
    ['a negative number', '-1', '-1'],
    ['a sum', '-1+2', "'-1+2"],
    ['an exponent', '-1e5', "'-1e5"],
    ['a formula of two lines', '=1+1\nx', `"'=1+1\nx"`],
    ['a formula after a space', ' =1', '" =1"'],
    ['a formula behind a semicolon', 'x;=1+1', '"x;=1+1"'],
    ['a formula behind a leading semicolon', ';=1+1', '";=1+1"'],
    ['a formula behind a tab', 'x\t@SUM(A1)', '"x\t@SUM(A1)"'],
    ['a formula behind a bar and a space', 'x| -1', '"x| -1"'],
    ['a full-width formula behind a semicolon', 'x;＝1', '"x;＝1"'],
    ['a semicolon before a word', 'x; y', 'x; y'],
    ['a space at the end', 'x ', '"x "'],
    ['an equals sign inside', 'a=1', 'a=1'],
    ['a quotation mark', 'say "hi"', '"say ""hi"""'],
    ['a comma', 'a,b', '"a,b"'],
    ['a byte order mark', '\ufeffx', '"\ufeffx"'],
    ['the number -5', -5, '-5'],
    ['a float', 1.5e-7, '1.5e-7'],
    ['a bigint', 9007199254740993n, '9007199254740993'],
    ['true', true, 'true'],
    ['null', null, '""'],
    ['undefined', undefined, '""'],
    ['NaN', Number.NaN, '""'],
    ['an empty text', '', '""'],
    ['a list', [1, 2], '"[1,2]"'],
    ['an object', { role: 'a"b' }, String.raw`"{""role"":""a\""b""}"`],
    ['a date', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['written JSON', new JsonText('{"a":1}'), '"{""a"":1}"'],
  ])('[G1] %s', (_name, value, cell) => {
    expect(renderer.render([{ a: value }])).toBe(`a\r\n${cell}\r\n`)
  })

  it('[G2] hold a whole row', () => {
    const row = { id: 2, title: '=1+1\nx', price: '12.50', note: 'say "hi", ok' }
    expect(renderer.render([row])).toBe(`id,title,price,note\r\n2,"'=1+1\nx",12.50,"say ""hi"", ok"\r\n`)
  })

  it('[G2] of one column leave no line empty, which readers skip; others stay empty', () => {
    expect(renderer.render([{ a: null }, { a: 'x' }, { a: '' }])).toBe('a\r\n""\r\nx\r\n""\r\n')
    expect(renderer.render([{ a: null, b: '' }])).toBe('a,b\r\n,\r\n')
  })

  it('[G2] come back from an independent reader as they were', () => {
    const texts = ['', ' ', 'a', '"', '""', ',', '\r\n', '\n', ' a', 'ü😀', '\ufeff', 'a"b,c\r\nd', '\\', "'"]
    const rows = texts.flatMap((a) => texts.map((b) => ({ a, b })))
    const guarded = (text: string) => (/^[\r\n]/.test(text) ? `'${text}` : text)
    expect(readCsv(renderer.render(rows))).toEqual([['a', 'b'], ...rows.map(({ a, b }) => [guarded(a), guarded(b)])])
  })
})

describe('the table', () => {
  const header = 'id,title\r\n'

  it.each<[string, unknown, string]>([
    ['a list', [{ id: 1, title: 'x' }], `${header}1,x\r\n`],
    ['one object, which is one row', { id: 1, title: 'x' }, `${header}1,x\r\n`],
    ['an object with a field "results" that is no list', { results: 5 }, 'results\r\n5\r\n'],
    [
      'a page by number',
      { count: 1, next: null, previous: null, results: [{ id: 1, title: 'x' }] },
      `${header}1,x\r\n`,
    ],
    ['a page by cursor', { next: null, previous: null, results: [{ id: 1, title: 'x' }] }, `${header}1,x\r\n`],
    ['a server cursor', { cursor_id: 'x', results: [{ id: 1, title: 'x' }], exhausted: false }, `${header}1,x\r\n`],
    ['written JSON', new JsonText('[{"id":1,"title":"x"}]'), `${header}1,x\r\n`],
    ['a page of written JSON', { count: 1, results: new JsonText('[{"id":1}]') }, 'id\r\n1\r\n'],
    ['rows of different keys', [{ id: 1 }, { title: 'x' }, { id: 3, n: 1 }], 'id,title,n\r\n1,,\r\n,x,\r\n3,,1\r\n'],
    ['scalars', [1, '=x', null], `value\r\n1\r\n'=x\r\n""\r\n`],
    ['a scalar', 'x', 'value\r\nx\r\n'],
    ['nothing', [], ''],
    ['null', null, ''],
    ['names that look like formulas', [{ id: 1, '=h': 2 }], "id,'=h\r\n1,2\r\n"],
    ['names of methods', [{ a: 1 }, { toString: 'x' }], 'a,toString\r\n1,\r\n,x\r\n'],
    ['a key __proto__', [parse('{"__proto__":1}', { protoAction: 'ignore' })], '__proto__\r\n1\r\n'],
  ])('is made of %s', (_name, data, text) => {
    expect(renderer.render(data)).toBe(text)
  })

  it("has the serializer's columns, even when it has no rows", () => {
    expect(renderer.render(named([], 'id', '=h'))).toBe("id,'=h\r\n")
    expect(renderer.render({ count: 0, results: named([], 'id', 'title') })).toBe(header)
  })

  it("has the serializer's columns in their order, then what else the rows have", () => {
    expect(renderer.render(named([{ kind: 'a', title: 'x' }], 'id', 'title'))).toBe('id,title,kind\r\n,x,a\r\n')
  })
})

describe('objects inside rows', () => {
  class Country extends Serializer {
    static override declaredFields = { name: new StringField() }
  }
  class Author extends Serializer {
    static override declaredFields = {
      name: new StringField(),
      country: new NestedSerializer(Country, { allowNull: true }),
      tags: new JSONField(),
    }
  }
  class Book extends Serializer {
    static override declaredFields = {
      id: new IntegerField(),
      author: new NestedSerializer(Author, { allowNull: true }),
      others: new NestedSerializer(Country, { many: true }),
    }
  }
  const render = (obj: object[], serializer: SerializerClass = Book) =>
    renderer.render((new serializer({ obj, many: true }) as Serializer).data)
  const header = 'id,author.name,author.country.name,author.tags,others\r\n'

  it('have a column for each of their fields; lists and JSON are one cell', () => {
    const ada = { name: '=Ada', country: { name: 'Peru' }, tags: { a: 1 } }
    const ben = { name: 'Ben, B', country: null, tags: [1, 2] }
    const rows = [
      { id: 1, author: ada, others: [{ name: 'Chile' }] },
      { id: 2, author: ben, others: [] },
      { id: 3, author: null, others: [] },
    ]
    const lines = [`1,'=Ada,Peru,"{""a"":1}","[{""name"":""Chile""}]"`, '2,"Ben, B",,"[1,2]",[]', '3,,,,[]']
    expect(render(rows)).toBe(`${header}${lines.join('\r\n')}\r\n`)
    expect(render([])).toBe(header)
  })

  it('have what else they hold behind the others, and what is no object under the name itself', () => {
    class Own extends Author {
      override toRepresentation(author: object) {
        return 'alias' in author ? author.alias : { ...(super.toRepresentation(author) as object), born: 1815 }
      }
    }
    class Owned extends Serializer {
      static override declaredFields = { author: new NestedSerializer(Own) }
    }
    const rows = [{ author: { name: 'Ada', country: null, tags: null } }, { author: { alias: 'Ben' } }]
    expect(render(rows, Owned)).toBe(
      'author.name,author.country.name,author.tags,author.born,author\r\nAda,,,1815,\r\n,,,,Ben\r\n',
    )
  })
})

describe('Content-Disposition', () => {
  it.each([
    ['book', 'attachment; filename="book.csv"'],
    ['bücher', `attachment; filename="b_cher.csv"; filename*=UTF-8''b%C3%BCcher.csv`],
    ['a"b\r\nc', `attachment; filename="a_b__c.csv"; filename*=UTF-8''a%22b%0D%0Ac.csv`],
    ["it's (1)*", `attachment; filename="it_s__1__.csv"; filename*=UTF-8''it%27s%20%281%29%2A.csv`],
    ['😀', `attachment; filename="_.csv"; filename*=UTF-8''%F0%9F%98%80.csv`],
    ['\ud800', `attachment; filename="_.csv"; filename*=UTF-8''%EF%BF%BD.csv`],
    ['', 'attachment; filename="data.csv"'],
    [undefined, 'attachment; filename="data.csv"'],
  ])('[G5] of %j', (basename, value) => {
    expect(renderer.headers({ basename })).toEqual({ 'Content-Disposition': value })
  })
})

/** A reader of RFC 4180, by the book. */
function readCsv(text: string): string[][] {
  const records: string[][] = []
  let cells: string[] = []
  let at = 0
  while (at < text.length) {
    let cell = ''
    if (text[at] === '"') {
      for (at++; !(text[at] === '"' && text[at + 1] !== '"'); at++) {
        if (text[at] === '"') at++
        cell += text[at]
      }
      at++
    } else {
      for (; text[at] !== ',' && !text.startsWith('\r\n', at); at++) cell += text[at]
    }
    cells.push(cell)
    if (text[at] === ',') {
      at++
      continue
    }
    expect(text.slice(at, at + 2)).toBe('\r\n')
    at += 2
    records.push(cells)
    cells = []
  }
  return records
}
