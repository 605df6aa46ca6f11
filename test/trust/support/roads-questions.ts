/** Questions by chance, and how each of three roads answers them. */
import type { Random } from './random.js'
import { type Data, idOf, idSql, ids, keyText, type World } from './roads-world.js'
import { NAMES, type Row, type TableName } from './row-rules.js'

/** An answer in a form that all three roads have. */
export type Result = unknown

export interface Answer {
  readonly status: number
  readonly json: unknown
}

/** Asks the API, with names as columns have them. */
export type Ask = (path: string) => Promise<Answer>

/** A question. */
export interface Question {
  readonly path: string
  readonly ours: (ask: Ask) => Promise<Result>
  readonly sql: string
  readonly casl: (world: World) => Result
  /** It is not asked as an agent asks it: tools know what is no argument. */
  readonly isPlain?: boolean
}

const json = (query: string) => `(select coalesce(json_agg(x), '[]') from (${query}) x)`
const list = (query: string, id = 'id') =>
  `select coalesce(json_agg(id order by id), '[]') as found from (select ${id} as id from ${query}) q`
const byKey = (one: unknown, other: unknown) => (one as number) - (other as number)
/** NULL is larger than every value. */
const textOf = (value: unknown) => (value === null ? '~' : JSON.stringify(value))
const quoted = (value: unknown) => `'${String(value)}'`

/** Rows of which the answer's are the ids, or the status. */
async function idsAt(ask: Ask, path: string, table: TableName): Promise<Result> {
  const { status, json: found } = await ask(path)
  return status === 200 ? (found as Row[]).map((row) => idOf(table, row)).sort(byKey) : status
}

export function randomQuestion(random: Random, data: Data): Question {
  const table = random.pick(NAMES)
  const id = 1 + random.below(7)
  const name = random.pick(['a', 'b', 'c'])
  const stars = 1 + random.below(5)

  /** Rows of a list that a condition narrows. */
  const listed = (
    [path, of]: readonly [string, TableName],
    sql: string,
    test: (world: World, row: Row) => boolean,
  ): Question => ({
    path,
    ours: (ask) => idsAt(ask, path, of),
    sql: list(`${of} where ${sql}`, idSql(of)),
    casl: (world) => ids(world.seen(of).filter((row) => test(world, row))),
  })
  const byBooks = (path: string, sql: string, test: (world: World, book: Row) => boolean) =>
    listed([path, 'books'], sql, test)
  const author = `select from authors a where a.id = books.author_id and a.name`
  const genre = (test: string) =>
    `select from book_genres l join genres g on g.id = l.genre_id where l.book_id = books.id and ${test}`
  const authorOf = (world: World, book: Row) => world.related('books', book, 'author')[0]
  const authorName = (world: World, book: Row) => (authorOf(world, book)?.['name'] as string) ?? null
  const region = (world: World, book: Row) => {
    const found = authorOf(world, book)
    return ((found && world.related('authors', found, 'team')[0]?.['region']) as string | null | undefined) ?? null
  }
  const some = (relation: string, test: (row: Row) => boolean) => (world: World, book: Row) =>
    world.related('books', book, relation).some(test)
  const hasGenre = some('genres', (row) => row['name'] === name)
  const starred = some('reviews', (row) => row['stars'] === stars)
  const nested = (world: World, book: Row) => ({
    id: book['id'],
    author: authorOf(world, book)?.['id'] ?? null,
    reviews: ids(world.related('books', book, 'reviews')),
    praise: ids(world.related('books', book, 'praise')),
  })
  const nestedSql = `select id, (select id from authors where id = books.author_id) author,
    (select coalesce(json_agg(id order by id), '[]') from reviews where book_id = books.id) reviews,
    (select coalesce(json_agg(id order by id), '[]') from reviews where book_id = books.id and stars > 2) praise
    from books`
  const nestedOurs = (book: { id: number; author: Row | null; reviews: Row[]; praise: Row[] }) => ({
    id: book.id,
    author: book.author?.['id'] ?? null,
    reviews: ids(book.reviews),
    praise: ids(book.praise),
  })
  const nestedPath = random.pick(['/nested', '/native'])
  const ordered = (
    [base, of]: readonly [string, TableName],
    [term, sql, from]: readonly [string, string, string],
    key: (world: World, row: Row) => string | null,
  ): Question => {
    const isBack = random.chance(0.5)
    const way = isBack ? 'desc' : 'asc'
    const path = `${base}?ordering=${isBack ? '-' : ''}${term}`
    return {
      path,
      ours: async (ask) => ((await ask(path)).json as Row[]).map((row) => row['id']),
      sql: `select coalesce(json_agg(q.id order by value ${way}, q.id ${way}), '[]') found from (
        select ${of}.id, ${sql} as value from ${of} ${from}) q`,
      casl(world) {
        // NULL is larger than every value
        const rank = (row: Row) => key(world, row) ?? '~'
        const sorted = [...world.seen(of)].sort((one, other) => {
          const [left, right] = [rank(one), rank(other)]
          return left < right ? -1 : left > right ? 1 : byKey(one['id'], other['id'])
        })
        return (isBack ? sorted.reverse() : sorted).map((row) => row['id'])
      },
    }
  }
  const joins = 'left join authors a on a.id = author_id left join teams t on t.id = a.team_id'
  const slugs = (world: World, book: Row) => ({
    id: book['id'],
    author: authorOf(world, book)?.['slug'] ?? null,
    genres: world
      .related('books', book, 'genres')
      .map((row) => row['slug'] as string)
      .sort(),
  })
  const slugsSql = `select id, (select slug from authors where id = books.author_id) author,
    (select coalesce(json_agg(slug order by slug), '[]') from genres g where exists (select from book_genres where book_id = books.id and genre_id = g.id)) genres from books`
  const slugsOurs = ({ id: key, author: of, genres }: Row) => ({
    id: key,
    author: of,
    genres: [...(genres as string[])].sort(),
  })
  const copies = (world: World, copy: Row) => ({
    id: copy['id'],
    loans: ids(world.related('copies', copy, 'loans')),
  })
  const copiesSql = `select ${idSql('copies')} id, (select coalesce(json_agg(l.id order by l.id), '[]') from loans l
    where l.book_id = copies.book_id and l.number = copies.number) loans from copies`
  /** Values of a field of books, and how many have each. */
  const facet = (field: string, filter: string, sql: string, value: (world: World, book: Row) => unknown): Question => {
    const path = `/books/facets?facet=${field}${filter}`
    const isFiltered = filter !== ''
    return {
      path,
      async ours(ask) {
        const { json: found } = await ask(path)
        return (found as Record<string, { values: readonly Row[] }>)[field]?.values
      },
      sql: `select ${json(`select ${sql} as value, count(*) as count from books ${joins} ${isFiltered ? `where exists (${genre(`g.name = '${name}'`)})` : ''} group by 1 order by 2 desc, 1`)} found`,
      casl(world) {
        const books = world.seen('books').filter((book) => !isFiltered || hasGenre(world, book))
        const values = books.map((book) => value(world, book))
        return [...new Set(values)]
          .map((one) => ({ value: one, count: values.filter((other) => other === one).length }))
          .sort((one, other) => other.count - one.count || (textOf(one.value) < textOf(other.value) ? -1 : 1))
      },
    }
  }
  const grouped = (field: string, sql: string, value: (world: World, book: Row) => string | null): Question => ({
    path: `/books/aggregate?group_by=${field}&aggregate=n`,
    async ours(ask) {
      return (await ask(this.path)).json
    },
    sql: `select ${json(`select ${sql} as ${field}, count(*) n from books ${joins} group by 1 order by 1`)} found`,
    casl(world) {
      const names = world.seen('books').map((book) => value(world, book))
      return [...new Set(names)]
        .sort((one, other) => ((one ?? '~') < (other ?? '~') ? -1 : 1))
        .map((one) => ({ [field]: one, n: names.filter((other) => other === one).length }))
    },
  })
  const below = ([parent, key]: readonly [TableName, number], of: TableName, column: string): Question => {
    const path = `/${parent}/${key}/${of}`
    return {
      path,
      ours: (ask) => idsAt(ask, path, of),
      sql: `select case when exists (select from ${parent} where id = ${key})
        then (select coalesce(json_agg(${idSql(of)} order by ${idSql(of)}), '[]') from ${of} where ${column} = ${key}) else '404' end found`,
      casl: (world) =>
        world.may('read', parent, key) ? ids(world.seen(of).filter((row) => row[column] === key)) : 404,
    }
  }
  const found = (
    path: string,
    [of, key]: readonly [TableName, number],
    parents: readonly (readonly [TableName, number])[],
    isThere: boolean,
  ): Question => ({
    path,
    ours: async (ask) => (await ask(path)).status,
    sql: `select case when ${isThere} and ${[...parents, [of, key] as const].map(([one, at]) => `exists (select from ${one} where ${idSql(one)} = ${at})`).join(' and ')} then 200 else 404 end found`,
    casl: (world) =>
      isThere && [...parents, [of, key] as const].every(([one, at]) => world.may('read', one, at)) ? 200 : 404,
  })
  const [fieldOf, field] = random.pick([
    ['books', 'cost'],
    ['books', 'isbn'],
    ['authors', 'income'],
    ['reviews', 'note'],
  ] as const)
  const mayRead = (world: World) => world.mayUse('read', fieldOf, field)

  const questions: readonly (() => Question)[] = [
    () => listed([`/${table}`, table], 'true', () => true),
    () => {
      const rows = data[table]
      const key = random.chance(0.9) && rows.length > 0 ? idOf(table, random.pick(rows)) : 20_009
      return found(`/${table}/${keyText(table, key)}`, [table, key], [], true)
    },
    () => ({
      path: nestedPath,
      ours: async (ask) => ((await ask(nestedPath)).json as never[]).map(nestedOurs),
      sql: `select ${json(`${nestedSql} order by id`)} found`,
      casl: (world) => world.seen('books').map((book) => nested(world, book)),
    }),
    () => ({
      path: `${nestedPath}/${id}`,
      async ours(ask) {
        const { status, json: one } = await ask(`${nestedPath}/${id}`)
        return status === 200 ? [nestedOurs(one as never)] : []
      },
      sql: `select ${json(`${nestedSql} where id = ${id}`)} found`,
      casl: (world) =>
        world
          .seen('books')
          .filter((book) => book['id'] === id)
          .map((book) => nested(world, book)),
    }),
    () => ({
      path: '/books?expand=author,reviews,copies,votes,styles,stock',
      async ours(ask) {
        const { json: all } = await ask(this.path)
        type Expanded = { id: number; author: Row | null; reviews: Row[]; copies: Row[]; genres: number[] } & Row
        return (all as Expanded[]).map((book) => ({
          id: book.id,
          author: book.author?.['id'] ?? null,
          reviews: ids(book.reviews),
          copies: book.copies.map((row) => row['number']).sort(byKey),
          votes: book['votes'],
          styles: book['styles'],
          stock: book['stock'],
          genres: [...book.genres].sort(byKey),
        }))
      },
      sql: `select ${json(`select id, (select id from authors where id = books.author_id) author,
        (select coalesce(json_agg(id order by id), '[]') from reviews where book_id = books.id) reviews,
        (select coalesce(json_agg(number order by number), '[]') from copies where book_id = books.id) copies,
        (select count(*) from reviews where book_id = books.id) votes,
        (select count(*) from genres where exists (select from book_genres where book_id = books.id and genre_id = genres.id)) styles,
        (select count(*) from copies where book_id = books.id) stock,
        (select coalesce(json_agg(id order by id), '[]') from genres where exists (select from book_genres where book_id = books.id and genre_id = genres.id)) genres
        from books order by id`)} found`,
      casl: (world) =>
        world.seen('books').map((book) => {
          const { id: key, author: of, reviews } = nested(world, book)
          const genres = ids(world.related('books', book, 'genres'))
          const numbers = world
            .related('books', book, 'copies')
            .map((row) => row['number'])
            .sort(byKey)
          return {
            id: key,
            author: of,
            reviews,
            copies: numbers,
            votes: reviews.length,
            styles: genres.length,
            stock: numbers.length,
            genres,
          }
        }),
    }),
    () =>
      byBooks(
        `/books?author__name=${name}`,
        `exists (${author} = '${name}')`,
        (world, book) => authorName(world, book) === name,
      ),
    () =>
      byBooks(
        `/books?author__name__ne=${name}`,
        `not exists (${author} = '${name}')`,
        (world, book) => authorName(world, book) !== name,
      ),
    () =>
      byBooks(
        `/books?author__team__region=${name}`,
        `exists (select from authors a join teams t on t.id = a.team_id where a.id = books.author_id and t.region = '${name}')`,
        (world, book) => region(world, book) === name,
      ),
    () => byBooks(`/books?genres__name=${name}`, `exists (${genre(`g.name = '${name}'`)})`, hasGenre),
    () =>
      byBooks(
        `/books?copies__state=${name}`,
        `exists (select from copies c where c.book_id = books.id and c.state = '${name}')`,
        some('copies', (row) => row['state'] === name),
      ),
    () =>
      byBooks(
        `/books?filter=any(reviews,stars=${stars})`,
        `exists (select from reviews where book_id = books.id and stars = ${stars})`,
        starred,
      ),
    () =>
      byBooks(
        `/books?filter=none(reviews,stars=${stars})`,
        `not exists (select from reviews where book_id = books.id and stars = ${stars})`,
        (world, book) => !starred(world, book),
      ),
    () =>
      byBooks(
        `/books?filter=count(reviews)__gte=${stars - 1}`,
        `(select count(*) from reviews where book_id = books.id) >= ${stars - 1}`,
        (world, book) => world.related('books', book, 'reviews').length >= stars - 1,
      ),
    () =>
      byBooks(
        `/books?filter=count(genres)__gte=${stars - 1}`,
        `(select count(*) from genres where exists (select from book_genres where book_id = books.id and genre_id = genres.id)) >= ${stars - 1}`,
        (world, book) => world.related('books', book, 'genres').length >= stars - 1,
      ),
    () =>
      byBooks(
        `/books?filter=not(any(genres,name=${name}))`,
        `not exists (${genre(`g.name = '${name}'`)})`,
        (world, book) => !hasGenre(world, book),
      ),
    () =>
      byBooks(
        `/books?filter=any(copies,any(loans,reader=${name}))`,
        `exists (select from copies c join loans l on l.book_id = c.book_id and l.number = c.number where c.book_id = books.id and l.reader = '${name}')`,
        (world, book) =>
          world
            .related('books', book, 'copies')
            .some((copy) => world.related('copies', copy, 'loans').some((row) => row['reader'] === name)),
      ),
    () =>
      byBooks(
        '/books?filter=none(author)',
        `not exists (select from authors where id = author_id)`,
        (world, book) => authorName(world, book) === null,
      ),
    () =>
      listed(
        [`/loans?copy__state=${name}`, 'loans'],
        `exists (select from copies c where c.book_id = loans.book_id and c.number = loans.number and c.state = '${name}')`,
        (world, loan) => world.related('loans', loan, 'copy')[0]?.['state'] === name,
      ),
    () =>
      listed(
        [`/loans?copy__book__title=${name}`, 'loans'],
        `exists (select from copies c join books b on b.id = c.book_id where c.book_id = loans.book_id and c.number = loans.number and b.title = '${name}')`,
        (world, loan) => {
          const [copy] = world.related('loans', loan, 'copy')
          return copy !== undefined && world.related('copies', copy, 'book')[0]?.['title'] === name
        },
      ),
    () =>
      listed(
        [`/copies?book__title=${name}`, 'copies'],
        `exists (select from books b where b.id = book_id and b.title = '${name}')`,
        (world, copy) => world.related('copies', copy, 'book')[0]?.['title'] === name,
      ),
    () =>
      listed(
        [`/book_genres?genre__name=${name}`, 'book_genres'],
        `exists (select from genres g where g.id = genre_id and g.name = '${name}')`,
        (world, link) => world.related('book_genres', link, 'genre')[0]?.['name'] === name,
      ),
    () =>
      listed(
        [`/book_genres?book__title=${name}`, 'book_genres'],
        `exists (select from books b where b.id = book_id and b.title = '${name}')`,
        (world, link) => world.related('book_genres', link, 'book')[0]?.['title'] === name,
      ),
    () => ordered(['/books', 'books'], ['author__name', 'a.name', joins], authorName),
    () => ordered(['/books', 'books'], ['author__team__region', 't.region', joins], region),
    () =>
      ordered(
        ['/loans', 'loans'],
        ['copy__state', 'c.state', 'left join copies c on c.book_id = loans.book_id and c.number = loans.number'],
        (world, loan) => (world.related('loans', loan, 'copy')[0]?.['state'] as string | undefined) ?? null,
      ),
    () =>
      byBooks(
        `/books?search=${name}`,
        `exists (${author} = '${name}') or exists (${genre(`g.name = '${name}'`)})`,
        (world, book) => authorName(world, book) === name || hasGenre(world, book),
      ),
    () => below(['books', id], 'reviews', 'book_id'),
    () => below(['books', id], 'copies', 'book_id'),
    () => below(['authors', 1 + random.below(5)], 'books', 'author_id'),
    () => {
      const review = 1 + random.below(8)
      const parent = random.chance(0.6) ? (data.reviews[review - 1]?.['book_id'] as number) : id
      const isThere = data.reviews[review - 1]?.['book_id'] === parent
      return found(`/books/${parent}/reviews/${review}`, ['reviews', review], [['books', parent]], isThere)
    },
    () => {
      const number = 1 + random.below(2)
      return found(`/books/${id}/copies/${number}`, ['copies', id * 10_000 + number], [['books', id]], true)
    },
    () => {
      const review = 1 + random.below(8)
      const book = (data.reviews[review - 1]?.['book_id'] as number) ?? id
      const writer = (data.books[book - 1]?.['author_id'] as number | null) ?? 5
      return found(
        `/authors/${writer}/books/${book}/reviews/${review}`,
        ['reviews', review],
        [
          ['authors', writer],
          ['books', book],
        ],
        true,
      )
    },
    () => ({
      path: '/paged?page_size=2&search=a',
      ours: async (ask) => ((await ask('/paged?page_size=2&search=a')).json as { count: number }).count,
      sql: `select count(*)::int found from books where exists (${author} = 'a') or exists (${genre(`g.name = 'a'`)})`,
      casl: (world) =>
        world
          .seen('books')
          .filter(
            (book) =>
              authorName(world, book) === 'a' ||
              world.related('books', book, 'genres').some((row) => row['name'] === 'a'),
          ).length,
    }),
    () => grouped('author__name', 'a.name', authorName),
    () => grouped('author__team__region', 't.region', region),
    () => grouped('title', 'title', (_, book) => book['title'] as string),
    () => ({
      path: `/books/aggregate?genres__name=${name}`,
      async ours(ask) {
        return (await ask(this.path)).json
      },
      sql: `select row_to_json(x) found from (select count(*) n, count(distinct a.name) names, max(t.region) as last from books ${joins} where exists (${genre(`g.name = '${name}'`)})) x`,
      casl(world) {
        const books = world.seen('books').filter((book) => hasGenre(world, book))
        const names = books.flatMap((book) => authorName(world, book) ?? [])
        const regions = books.flatMap((book) => region(world, book) ?? []).sort()
        return { n: books.length, names: new Set(names).size, last: regions.at(-1) ?? null }
      },
    }),
    () => facet('author__name', '', 'a.name', authorName),
    () => facet('author__team__region', '', 't.region', region),
    () => facet('author__name', `&genres__name=${name}`, 'a.name', authorName),
    () => facet('title', `&genres__name=${name}`, 'title', (_, book) => book['title']),
    () => ({
      path: '/slugged',
      ours: async (ask) => ((await ask('/slugged')).json as Row[]).map(slugsOurs),
      sql: `select ${json(`${slugsSql} order by id`)} found`,
      casl: (world) => world.seen('books').map((book) => slugs(world, book)),
    }),
    () => ({
      path: `/slugged/${id}`,
      async ours(ask) {
        const { status, json: one } = await ask(`/slugged/${id}`)
        return status === 200 ? [slugsOurs(one as Row)] : []
      },
      sql: `select ${json(`${slugsSql} where id = ${id}`)} found`,
      casl: (world) =>
        world
          .seen('books')
          .filter((book) => book['id'] === id)
          .map((book) => slugs(world, book)),
    }),
    () => ({
      path: '/teams',
      ours: async (ask) =>
        ((await ask('/teams')).json as Row[]).map((team) => ({
          id: team['id'],
          authors: [...(team['authors'] as number[])].sort(byKey),
        })),
      sql: `select ${json(`select id, (select coalesce(json_agg(a.id order by a.id), '[]') from authors a where a.team_id = teams.id) authors from teams order by id`)} found`,
      casl: (world) =>
        world.seen('teams').map((team) => ({ id: team['id'], authors: ids(world.related('teams', team, 'authors')) })),
    }),
    () => ({
      path: '/copies',
      ours: async (ask) =>
        ((await ask('/copies')).json as Row[])
          .map((copy) => ({ id: idOf('copies', copy), loans: ids(copy['loans'] as Row[]) }))
          .sort((one, other) => one.id - other.id),
      sql: `select ${json(`${copiesSql} order by 1`)} found`,
      casl: (world) =>
        [...world.seen('copies')]
          .sort((one, other) => byKey(one['id'], other['id']))
          .map((copy) => copies(world, copy)),
    }),
    // fields of which rules say something, the same for all callers
    () => {
      const key = 1 + random.below(4)
      const path = `/${fieldOf}/${key}`
      return {
        path: `a field: ${path}`,
        async ours(ask) {
          const { status, json: one } = await ask(path)
          if (status !== 200) return null
          const value = (one as Row)[field]
          return value === undefined || value === 'masked' ? 'refused' : value
        },
        sql: `select case when exists (select from ${fieldOf} where id = ${key}) then answer('select to_json(${field}) from ${fieldOf} where id = ${key}') end found`,
        casl(world) {
          const row = world.may('read', fieldOf, key) ? world.find(fieldOf, key) : undefined
          return row === undefined ? null : mayRead(world) ? row[field] : 'refused'
        },
      }
    },
    () => {
      const column = random.pick(['cost', 'isbn'])
      const value = column === 'cost' ? 1 + random.below(4) : name
      const path = `/books?${column}=${value}`
      const all = `select coalesce(json_agg(id order by id), '[]') from books`
      return {
        path,
        isPlain: true,
        ours: (ask) => idsAt(ask, path, 'books'),
        // what has no name narrows nothing
        sql: `select case when found::text = '"refused"' then (${all}) else found end found from answer('${`${all} where ${column} = ${quoted(value)}`.replaceAll("'", "''")}') found`,
        casl: (world) =>
          ids(world.seen('books').filter((book) => !world.mayUse('read', 'books', column) || book[column] === value)),
      }
    },
    () => {
      const column = random.pick(['cost', 'isbn'])
      const path = `/books?ordering=${column}`
      const all = (order: string) => `select coalesce(json_agg(id order by ${order}id), '[]') from books`
      return {
        path,
        isPlain: true,
        ours: async (ask) => ((await ask(path)).json as Row[]).map((row) => row['id']),
        sql: `select case when found::text = '"refused"' then (${all('')}) else found end found from answer('${all(`${column}, `).replaceAll("'", "''")}') found`,
        casl(world) {
          const isKnown = world.mayUse('read', 'books', column)
          const rank = (book: Row) => (isKnown ? textOf(book[column]) : '')
          return [...world.seen('books')]
            .sort((one, other) =>
              rank(one) < rank(other) ? -1 : rank(one) > rank(other) ? 1 : byKey(one['id'], other['id']),
            )
            .map((book) => book['id'])
        },
      }
    },
    () => ({
      path: '/figures/aggregate',
      async ours(ask) {
        const { n, total = 'refused' } = (await ask('/figures/aggregate')).json as Row
        return { n, total }
      },
      sql: `select json_build_object('n', (select count(*) from books), 'total', answer('select to_json(sum(cost)) from books')) found`,
      casl(world) {
        const costs = world.seen('books').flatMap((book) => (book['cost'] as number | null) ?? [])
        const total = costs.length === 0 ? null : costs.reduce((sum, cost) => sum + cost, 0)
        return { n: world.seen('books').length, total: world.mayUse('read', 'books', 'cost') ? total : 'refused' }
      },
    }),
  ]
  return random.pick(questions)()
}
