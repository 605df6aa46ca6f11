insert into authors (name, bio) select 'author ' || n, 'bio ' || n from generate_series(1, 5) n;
insert into books (title, isbn, n, big, price, published, created, uid, meta, tags, owner_id, author_id)
  select 'title ' || n, 'isbn-' || n, n % 7, n * 1000, n, date '2020-01-01' + n, timestamptz '2026-01-01' + n * interval '1 second',
    gen_random_uuid(), jsonb_build_object('k', n), array['book', 'tag ' || n % 4], 1 + n % 3, 1 + n % 5
  from generate_series(1, 200) n;
insert into reviews (text, stars, book_id) select 'review ' || n, 1 + n % 5, n from generate_series(1, 100) n;
insert into events (name, created, rank)
  select 'event ' || n, timestamptz '2026-01-01' + (n / 3) * interval '150 microseconds', n % 11 from generate_series(1, 1000) n;
insert into notes (text, owner_id) select 'note ' || n, 1 + n % 3 from generate_series(1, 30) n;
insert into pictures (caption, image) select 'picture ' || n, n || '.png' from generate_series(1, 5) n;
insert into canary values (1, 'untouched');
