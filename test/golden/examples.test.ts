/** The examples, each with requests of every kind that it answers. */
import { it, onTestFinished } from 'vitest'
import { createDatabase } from '../support/database.js'
import { toUrl } from '../support/program.js'
import { expectRecorded, Recording } from './support/recording.js'
import { startInside } from './support/started.js'

async function recordExample(name: string, schema: string): Promise<Recording> {
  const database = await createDatabase({ schema })
  onTestFinished(() => database.drop())
  const env = { DATABASE_URL: toUrl(database.direct) }
  const { api, port, close } = await startInside(() => import(`../../examples/${name}.ts`), env)
  onTestFinished(close)
  return Recording.of({ api, port })
}

it('quickstart', async () => {
  const example = await recordExample(
    'quickstart',
    `create table books (
      id int generated always as identity primary key,
      title varchar(20) not null unique,
      price numeric(6, 2) check (price >= 0),
      created_at timestamptz not null default '2026-01-02 12:00:00.5+00'
    );
    insert into books (title, price, created_at) values
      ('Momo', 9.9, '2026-01-01 12:00:00.123456+00'), ('Zazie', null, '2026-01-01'), ('Ubik', 12, '2025-12-31')`,
  )
  await example.send('GET', '/api/')
  await example.send('GET', '/api/books')
  await example.send('GET', '/api/books?page=2&page_size=2')
  await example.send('GET', '/api/books?page=9')
  await example.send('GET', '/api/books?fields=title,price')
  await example.send('HEAD', '/api/books')
  await example.send('OPTIONS', '/api/books')
  await example.send('OPTIONS', '/api/books/1')
  await example.send('GET', '/api/books/1')
  await example.send('GET', '/api/books/99')
  await example.send('GET', '/api/books/x')
  await example.send('POST', '/api/books', { title: 'Emma', price: '12.5' })
  await example.send('POST', '/api/books', {})
  await example.send('POST', '/api/books', { title: 'x'.repeat(21), price: '1.234' })
  await example.send('POST', '/api/books', { title: 'Momo' })
  await example.send('POST', '/api/books', { title: 'Ronja', price: '-1' })
  await example.ask({ path: '/api/books', headers: { 'Content-Type': 'application/json' }, body: '{"title":' })
  await example.ask({ path: '/api/books', headers: { 'Content-Type': 'text/plain' }, body: 'title' })
  await example.send('PUT', '/api/books/1', { title: 'Momo again' })
  await example.send('PUT', '/api/books/1', { price: 3 })
  await example.send('PATCH', '/api/books/1', { price: 1.5 })
  await example.send('PATCH', '/api/books/1', {})
  await example.send('PATCH', '/api/books/99', { price: 1 })
  await example.send('DELETE', '/api/books')
  await example.send('DELETE', '/api/books/1')
  await example.send('DELETE', '/api/books/1')
  await example.send('GET', '/nothing')
  await expectRecorded('examples', 'quickstart', example.text())
})

it('existing-app', async () => {
  const example = await recordExample(
    'existing-app',
    `create table books (
      id int generated always as identity primary key,
      title varchar(20) not null,
      added_by text not null,
      archived boolean not null default false
    );
    insert into books (title, added_by, archived) values ('Zazie', 'Bob', false), ('Out of print', 'Bob', true)`,
  )
  const books = '/api/v1/books'
  await example.send('GET', '/')
  await example.send('GET', books)
  await example.send('GET', `${books}/2`)
  await example.send('POST', books, { title: 'Momo' })
  await example.send('OPTIONS', books)
  const { headers } = await example.send('POST', '/login', { name: 'Ann' })
  const Cookie = String(headers['set-cookie']?.map((text) => text.split(';', 1)[0]).join('; '))
  await example.send('POST', books, { title: 'Momo', added_by: 'Eve' }, { Cookie })
  await example.send('POST', books, { title: 'M' }, { Cookie })
  await example.send('PATCH', `${books}/1`, { title: 'Zazie again' }, { Cookie })
  await example.send('PUT', `${books}/2`, { title: 'Out of sight' }, { Cookie })
  await example.send('GET', `${books}?page_size=1`)
  await example.send('DELETE', `${books}/3`, undefined, { Cookie })
  await example.send('PUT', books, {})
  await example.send('DELETE', '/login')
  await expectRecorded('examples', 'existing-app', example.text())
})

it('known-clients', async () => {
  const example = await recordExample(
    'known-clients',
    `create table books (id int generated always as identity primary key, title text not null unique, price numeric(6,2));
    create table reviews (id int generated always as identity primary key, book_id int not null references books);
    create table genres (id int generated always as identity primary key, name text not null);
    create table books_genres (book_id int not null references books, genre_id int not null references genres,
      primary key (book_id, genre_id));
    insert into books (title, price) values ('Momo', 9.5), ('Zazie', 12), ('Ubik', 20);
    insert into reviews (book_id) values (2), (2);
    insert into genres (name) values ('novel'), ('children');
    insert into books_genres values (2, 1)`,
  )
  await example.send('GET', '/api/books?price:gt=10&select=title&orderBy=-price')
  await example.send('GET', '/api/books?price:in=9.5,20&price:ne=20')
  await example.send('GET', '/api/books?reviewed=true')
  await example.send('GET', '/api/books?price:gt=much')
  await example.send('GET', '/api/books?page=2&per_page=2&orderBy=title')
  await example.send('GET', '/api/books?page=x&per_page=-1')
  await example.send('PATCH', '/api/books/1', { price: '8.00' })
  await example.send('GET', '/api/books/1')
  await example.send('POST', '/api/books', { title: 'Momo' })
  await example.send('PATCH', '/api/books/1', { title: 'Ubik' })
  await example.send('PATCH', '/api/books/99', {})
  await example.send('POST', '/api/catalogue', { title: 'Emma', price: 1 })
  await example.send('GET', '/api/catalogue')
  await example.send('GET', '/api/catalogue/2/genres')
  await example.send('POST', '/api/catalogue/2/genres/2')
  await example.send('GET', '/api/catalogue/2/genres')
  await example.send('POST', '/api/catalogue/2/genres/2')
  await example.send('DELETE', '/api/catalogue/2/genres/2')
  await example.send('DELETE', '/api/catalogue/2/genres/2')
  await example.send('POST', '/api/catalogue/9/genres/1')
  await example.send('GET', '/api/catalogue/9/genres')
  await example.send('OPTIONS', '/api/catalogue/2/genres/2')
  await expectRecorded('examples', 'known-clients', example.text())
})
