/** Writes by chance: a request, and the same as steps for the other two roads. */
import type { Random } from './random.js'
import { type Data, idOf, keyText, type Step } from './roads-world.js'
import type { Row, TableName } from './row-rules.js'

export interface Write {
  readonly path: string
  readonly send: readonly [method: string, path: string, body: unknown]
  readonly steps: readonly Step[]
  /** Tables of which rows get other values, links or keys: a rule of what is written that looks at them is asked too early by a policy. */
  readonly changed: readonly TableName[]
}

/** The key of the first row that is made. */
const NEW = 1000

/** What goes with a book. */
const OF_BOOKS = ['books', 'book_genres', 'reviews', 'copies', 'loans'] as const

/** @param seen the keys of the rows that the caller sees: what is refused at once tells little */
export function randomWrite(random: Random, data: Data, seen: (table: TableName) => readonly number[]): Write {
  const some = (table: TableName, most: number) => {
    const keys = random.chance(0.75) ? seen(table) : []
    return keys.length > 0 ? random.pick(keys) : 1 + random.below(most)
  }
  const id = some('books', 7)
  const other = 1 + (id % 7)
  const book = data.books.find((row) => row['id'] === id)
  const author_id = random.chance(0.15) ? null : some('authors', 5)
  const linked = random.some(random.chance(0.75) ? seen('genres') : [1, 2, 3, 4], 0.4)
  const review = random.chance(0.7)
    ? ((data.reviews.find((row) => row['book_id'] === id)?.['id'] as number) ?? 9)
    : 1 + random.below(9)
  const stars = 6 + random.below(3)
  const number = 1 + random.below(3)
  const fields: Row = {
    tenant: random.pick([1, 2, 3, null]),
    title: random.pick(['a', 'b', 'c']),
    price: random.pick([1, 2, 3, null]),
  }
  const isPublished = random.chance(0.5)
  const slug = (key: number | null, table = 'a') => (key === null ? null : `${table}${key}`)
  const isOf = (table: TableName, key: number, column: string) => data[table].find((row) => row['id'] === key)?.[column]

  const see = (table: TableName, key: number | null, before?: unknown): Step[] =>
    key === null || key === before ? [] : [{ do: 'see', table, id: key }]
  const change = (table: TableName, key: number, to: Row): Step & { readonly do: 'change' } => ({
    do: 'change',
    table,
    id: key,
    to,
  })
  const create = (table: TableName, row: Row): Step => ({ do: 'create', table, row })
  const remove = (table: TableName, key: number): Step => ({ do: 'remove', table, id: key })
  const unchanged = (table: TableName, key: number): Step => change(table, key, { id: key })

  /** The links of a book, or a genre, become these, but for those that are not seen. */
  const links = ([of, key]: readonly ['books' | 'genres', number], wanted: readonly number[]): Step[] => {
    const [own, column, to] =
      of === 'books' ? (['book_id', 'genre_id', 'genres'] as const) : (['genre_id', 'book_id', 'books'] as const)
    const held = data.book_genres.filter((row) => row[own] === key)
    const isHeld = (one: number) => held.some((row) => row[column] === one)
    const gone = held.filter((row) => !wanted.includes(row[column] as number))
    return [
      ...wanted.flatMap((one) => see(to, one)),
      ...gone.map((row): Step => {
        const link = idOf('book_genres', row)
        const ifSeen = [
          ['book_genres', link],
          [to, row[column] as number],
        ] as const
        return { ...remove('book_genres', link), ifSeen }
      }),
      // a link that is there stays, whoever sees it
      ...wanted.filter((one) => !isHeld(one)).map((one) => create('book_genres', { [own]: key, [column]: one })),
    ]
  }
  const newLinks = (key: number) =>
    linked.flatMap((genre) => [...see('genres', genre), create('book_genres', { book_id: key, genre_id: genre })])
  const [base, genresGiven] = random.pick([
    ['/books', linked],
    ['/slugged', linked.map((genre) => slug(genre, 'g'))],
  ] as const)
  const isSlugged = base === '/slugged'
  const authorGiven = isSlugged ? { author: slug(author_id) } : { author_id }
  /** What a choice of the author does: what is not shown is not cleared by null. */
  const choosing = (key: number): { steps: Step[]; to: Row } => {
    const before = isOf('books', key, 'author_id')
    if (!isSlugged) return { steps: see('authors', author_id, before), to: { author_id } }
    if (author_id !== null) return { steps: see('authors', author_id), to: { author_id } }
    return { steps: [], to: {} }
  }
  /** The change of a book, of which an author that is shown goes. */
  const clearing = (key: number, to: Row): Step => {
    const before = isOf('books', key, 'author_id')
    const changed = change('books', key, to)
    return typeof before === 'number' ? { ...changed, clears: ['author_id', 'authors', before] } : changed
  }
  const changing = (key: number, to: Row): Step =>
    isSlugged && author_id === null ? clearing(key, to) : change('books', key, to)
  const nestedPath = random.pick(['/nested', '/native'])

  const writes: readonly (() => Write)[] = [
    () => {
      const made = { ...fields, published: isPublished }
      const under = random.chance(0.3) && author_id !== null && !isSlugged
      return {
        path: under ? 'POST a book below its author' : `POST ${base}`,
        changed: ['books', 'book_genres'],
        send: ['POST', under ? `/authors/${author_id}/books` : base, { ...made, ...authorGiven, genres: genresGiven }],
        steps: [...see('authors', author_id), create('books', { id: NEW, ...made, author_id }), ...newLinks(NEW)],
      }
    },
    () => ({
      path: 'POST two books',
      changed: ['books', 'book_genres'],
      send: [
        'POST',
        '/books/bulk',
        [
          { ...fields, author_id },
          { ...fields, title: 'z', genres: linked },
        ],
      ],
      steps: [
        ...see('authors', author_id),
        create('books', { id: NEW, ...fields, author_id }),
        create('books', { id: NEW + 1, ...fields, title: 'z' }),
        ...newLinks(NEW + 1),
      ],
    }),
    () => {
      const { steps, to } = choosing(id)
      return {
        path: `PATCH ${base}`,
        changed: ['books'],
        send: ['PATCH', `${base}/${id}`, { ...fields, ...authorGiven }],
        steps: [...steps, changing(id, { ...fields, ...to })],
      }
    },
    () => {
      const { steps, to } = choosing(id)
      return {
        path: `PUT ${base}`,
        changed: ['books', 'book_genres'],
        send: ['PUT', `${base}/${id}`, { ...fields, published: isPublished, ...authorGiven, genres: genresGiven }],
        steps: [...steps, changing(id, { ...fields, published: isPublished, ...to }), ...links(['books', id], linked)],
      }
    },
    () => {
      const price = random.pick([1, 2, 3])
      return {
        path: 'PATCH two books',
        changed: ['books'],
        send: [
          'PATCH',
          '/books/bulk',
          [
            { id, price },
            { id: other, author_id },
          ],
        ],
        steps: [
          ...see('authors', author_id, isOf('books', other, 'author_id')),
          change('books', id, { price }),
          change('books', other, { author_id }),
        ],
      }
    },
    () => ({
      path: 'link genres of two books',
      changed: ['book_genres'],
      send: [
        'PATCH',
        '/books/bulk',
        [
          { id, genres: linked },
          { id: other, genres: [1] },
        ],
      ],
      steps: [
        unchanged('books', id),
        unchanged('books', other),
        ...links(['books', id], linked),
        ...links(['books', other], [1]),
      ],
    }),
    () => ({
      path: `link genres by ${base}`,
      changed: ['book_genres'],
      send: ['PATCH', `${base}/${id}`, { genres: genresGiven }],
      steps: [unchanged('books', id), ...links(['books', id], linked)],
    }),
    () => {
      const genre = some('genres', 4)
      const wanted = random.some(random.chance(0.75) ? seen('books') : [1, 2, 3, 4, 5, 6], 0.3)
      return {
        path: 'link books of a genre',
        changed: ['book_genres'],
        send: ['PATCH', `/genres/${genre}`, { books: wanted }],
        steps: [unchanged('genres', genre), ...links(['genres', genre], wanted)],
      }
    },
    () => ({
      path: 'DELETE a book',
      changed: OF_BOOKS,
      send: ['DELETE', `/books/${id}`, undefined],
      steps: [remove('books', id)],
    }),
    () => ({
      path: 'DELETE two books',
      changed: OF_BOOKS,
      send: ['DELETE', '/books/bulk', [id, other]],
      steps: [remove('books', id), remove('books', other)],
    }),
    () => {
      const made = { stars: 1 + random.below(5), kind: random.pick(['a', 'b', null]) }
      const writer = (book?.['author_id'] as number | null | undefined) ?? 5
      const [path, parents] = random.pick<readonly [string, Step[]]>([
        ['/reviews', see('books', id)],
        [`/books/${id}/reviews`, see('books', id)],
        [`/authors/${writer}/books/${id}/reviews`, [...see('authors', writer), ...see('books', id)]],
      ])
      const isBelow = path !== '/reviews'
      return {
        path: isBelow ? 'POST a review below its book' : 'POST a review',
        changed: ['reviews'],
        send: ['POST', path, isBelow ? made : { ...made, book_id: id }],
        steps: [...parents, create('reviews', { id: NEW, book_id: id, ...made })],
      }
    },
    () => ({
      path: 'move a review',
      changed: ['reviews'],
      send: ['PATCH', `/reviews/${review}`, { book_id: id }],
      steps: [...see('books', id, isOf('reviews', review, 'book_id')), change('reviews', review, { book_id: id })],
    }),
    () => {
      const isThere = isOf('reviews', review, 'book_id') === id
      const never: Step[] = isThere ? [] : [{ do: 'see', table: 'books', id: 99 }]
      const isGone = random.chance(0.5)
      return {
        path: `${isGone ? 'DELETE' : 'PATCH'} a review below its book`,
        changed: ['reviews'],
        send: [isGone ? 'DELETE' : 'PATCH', `/books/${id}/reviews/${review}`, isGone ? undefined : { stars }],
        steps: [
          ...never,
          ...see('books', id),
          isGone ? remove('reviews', review) : change('reviews', review, { stars }),
        ],
      }
    },
    () => ({
      path: 'DELETE two reviews',
      changed: ['reviews'],
      send: ['DELETE', '/reviews/bulk', [id, other]],
      steps: [remove('reviews', id), remove('reviews', other)],
    }),
    () => ({
      path: 'DELETE a loan',
      changed: ['loans'],
      send: ['DELETE', `/loans/${id}`, undefined],
      steps: [remove('loans', id)],
    }),
    () => {
      const isThere = isOf('reviews', review, 'book_id') === id
      const isWhole = random.chance(0.3)
      const never: Step[] = isThere ? [] : [{ do: 'see', table: 'books', id: 99 }]
      const whole = isWhole ? { ...fields, published: isPublished, author_id: book?.['author_id'] ?? null } : {}
      return {
        path: `${isWhole ? 'PUT' : 'PATCH'} nested reviews`,
        changed: isWhole ? ['books', 'reviews'] : ['reviews'],
        send: [
          isWhole ? 'PUT' : 'PATCH',
          `${nestedPath}/${id}`,
          {
            ...whole,
            reviews: [
              { id: review, stars },
              { stars, kind: 'a' },
            ],
          },
        ],
        steps: [
          ...never,
          isWhole ? change('books', id, whole) : unchanged('books', id),
          { do: 'change', table: 'reviews', id: review, to: { stars }, isNested: true },
          create('reviews', { id: NEW, book_id: id, stars, kind: 'a' }),
        ],
      }
    },
    () => {
      const held = book?.['author_id'] as number | null | undefined
      const author = random.chance(0.7) ? (held ?? 1) : 1 + random.below(5)
      const never: Step[] = held === author ? [] : [{ do: 'see', table: 'books', id: 99 }]
      return {
        path: 'nested author',
        changed: ['authors'],
        send: ['PATCH', `${nestedPath}/${id}`, { author: { id: author, name: 'z' } }],
        steps: [...never, unchanged('books', id), change('authors', author, { name: 'z' })],
      }
    },
    () => {
      return {
        path: 'let go of a nested author',
        changed: ['books'],
        send: ['PATCH', `${nestedPath}/${id}`, { author: null }],
        steps: [clearing(id, { id })],
      }
    },
    () => ({
      path: 'POST a nested book',
      changed: ['books', 'authors', 'reviews'],
      send: [
        'POST',
        nestedPath,
        { ...fields, published: isPublished, author: { name: 'z' }, reviews: [{ stars, kind: 'a' }] },
      ],
      steps: [
        { do: 'create', table: 'authors', row: { id: NEW, name: 'z' }, isFirst: true },
        create('books', { id: NEW, ...fields, published: isPublished, author_id: NEW }),
        create('reviews', { id: NEW, book_id: NEW, stars, kind: 'a' }),
      ],
    }),
    // keys of two columns
    () => {
      const isBelow = random.chance(0.5)
      return {
        path: isBelow ? 'POST a copy below its book' : 'POST a copy',
        changed: ['copies'],
        send: [
          'POST',
          isBelow ? `/books/${id}/copies` : '/copies',
          { ...(isBelow ? {} : { book_id: id }), number, state: 'a' },
        ],
        steps: [...see('books', id), create('copies', { book_id: id, number, state: 'a' })],
      }
    },
    () => {
      const isBelow = random.chance(0.4)
      const state = random.pick(['a', 'b', 'z'])
      return {
        path: 'PATCH a copy',
        changed: ['copies'],
        send: ['PATCH', isBelow ? `/books/${id}/copies/${number}` : `/copies/${id},${number}`, { state }],
        steps: [...(isBelow ? see('books', id) : []), change('copies', id * 10_000 + number, { state })],
      }
    },
    () => ({
      path: 'PATCH two copies',
      changed: ['copies'],
      send: [
        'PATCH',
        '/copies/bulk',
        [
          { book_id: id, number: 1, state: 'z' },
          { book_id: other, number: 2, state: 'b' },
        ],
      ],
      steps: [change('copies', id * 10_000 + 1, { state: 'z' }), change('copies', other * 10_000 + 2, { state: 'b' })],
    }),
    () => {
      const isBulk = random.chance(0.5)
      const second = isBulk ? [remove('copies', other * 10_000 + 2)] : []
      return {
        path: isBulk ? 'DELETE two copies' : 'DELETE a copy',
        changed: ['copies', 'loans'],
        send: [
          'DELETE',
          isBulk ? '/copies/bulk' : `/copies/${id},${number}`,
          isBulk ? [`${id},${number}`, { book_id: other, number: 2 }] : undefined,
        ],
        steps: [remove('copies', id * 10_000 + number), ...second],
      }
    },
    () => {
      const loan = 1 + random.below(6)
      const before = data.loans.find((row) => row['id'] === loan)
      const isSame = before?.['book_id'] === id && before['number'] === number
      const isNew = random.chance(0.5)
      const to = { book_id: id, number }
      return {
        path: isNew ? 'POST a loan' : 'move a loan',
        changed: ['loans'],
        send: isNew ? ['POST', '/loans', { ...to, reader: 'a' }] : ['PATCH', `/loans/${loan}`, to],
        steps: [
          ...(isSame && !isNew ? [] : see('copies', id * 10_000 + number)),
          isNew ? create('loans', { id: NEW, ...to, reader: 'a' }) : change('loans', loan, to),
        ],
      }
    },
    () => {
      const copy = id * 10_000 + number
      const loan = (data.loans.find((row) => row['book_id'] === id && row['number'] === number)?.['id'] as number) ?? 1
      const isThere = data.loans.some((row) => row['id'] === loan && idOf('copies', row) === copy)
      const never: Step[] = isThere ? [] : [{ do: 'see', table: 'books', id: 99 }]
      return {
        path: 'nested loans',
        changed: ['copies', 'loans'],
        send: [
          'PATCH',
          `/copies/${keyText('copies', copy)}`,
          { state: 'z', loans: [{ id: loan, reader: 'z' }, { reader: 'z' }] },
        ],
        steps: [
          ...never,
          change('copies', copy, { state: 'z' }),
          { do: 'change', table: 'loans', id: loan, to: { reader: 'z' }, isNested: true },
          create('loans', { id: NEW, book_id: id, number, reader: 'z' }),
        ],
      }
    },
    () => {
      const genre = some('genres', 4)
      const link = id * 10_000 + genre
      const way = random.pick(['POST', 'PATCH', 'DELETE'] as const)
      const weight = random.pick([1, 2, 3])
      return {
        path: `${way} a link`,
        changed: ['book_genres'],
        send:
          way === 'POST'
            ? [way, '/book_genres', { book_id: id, genre_id: genre, weight }]
            : [way, `/book_genres/${id},${genre}`, way === 'PATCH' ? { weight } : undefined],
        steps:
          way === 'POST'
            ? [
                ...see('books', id),
                ...see('genres', genre),
                create('book_genres', { book_id: id, genre_id: genre, weight }),
              ]
            : [way === 'PATCH' ? change('book_genres', link, { weight }) : remove('book_genres', link)],
      }
    },
    // fields of which rules say something, the same for all callers
    () => {
      const [table, column] = random.pick([
        ['books', 'cost'],
        ['books', 'isbn'],
        ['authors', 'income'],
        ['reviews', 'note'],
      ] as const)
      const value = ['cost', 'income'].includes(column) ? 5 + random.below(3) : 'z'
      const key = 1 + random.below(4)
      return {
        path: `a field: PATCH ${column}`,
        changed: [table],
        send: ['PATCH', `/${table}/${key}`, { [column]: value }],
        steps: [change(table, key, { [column]: value })],
      }
    },
    () => {
      const isBook = random.chance(0.5)
      const column = isBook ? random.pick(['cost', 'isbn']) : 'income'
      const value = column === 'isbn' ? 'z' : 5
      const rows = isBook
        ? [
            { title: 'z', published: isPublished },
            { title: 'z', published: isPublished, [column]: value },
          ]
        : [{ name: 'z', [column]: value }]
      const table = isBook ? 'books' : 'authors'
      return {
        path: `a field: POST ${column}`,
        changed: [table],
        send: ['POST', isBook ? '/books/bulk' : '/authors', isBook ? rows : rows[0]],
        steps: rows.map((row, index) => create(table, { id: NEW + index, ...row })),
      }
    },
  ]
  return random.pick(writes)()
}
