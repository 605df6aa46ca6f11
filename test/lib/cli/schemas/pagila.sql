-- The tables, views, types and keys of Pagila, the sample database of a film rental shop (PostgreSQL licence,
-- Copyright Devrim Gündüz), written anew without its functions and rules, with some rows of our own.

create type mpaa_rating as enum ('G', 'PG', 'PG-13', 'R', 'NC-17');
create domain year as integer check (value >= 1901 and value <= 2155);

create table actor (
  actor_id serial primary key,
  first_name text not null,
  last_name text not null,
  last_update timestamptz not null default now()
);
create table category (
  category_id serial primary key,
  name text not null,
  last_update timestamptz not null default now()
);
create table country (
  country_id serial primary key,
  country text not null,
  last_update timestamptz not null default now()
);
create table city (
  city_id serial primary key,
  city text not null,
  country_id integer not null references country on update cascade on delete restrict,
  last_update timestamptz not null default now()
);
create table address (
  address_id serial primary key,
  address text not null,
  address2 text,
  district text not null,
  city_id integer not null references city,
  postal_code text,
  phone text not null,
  last_update timestamptz not null default now()
);
create table language (
  language_id serial primary key,
  name character(20) not null,
  last_update timestamptz not null default now()
);
create table film (
  film_id serial primary key,
  title text not null,
  description text,
  release_year year,
  language_id integer not null references language,
  original_language_id integer references language,
  rental_duration smallint not null default 3,
  rental_rate numeric(4, 2) not null default 4.99,
  length smallint,
  replacement_cost numeric(5, 2) not null default 19.99,
  rating mpaa_rating default 'G',
  last_update timestamptz not null default now(),
  special_features text[],
  fulltext tsvector not null
);
create index film_fulltext_idx on film using gist (fulltext);
create table film_actor (
  actor_id integer not null references actor,
  film_id integer not null references film,
  last_update timestamptz not null default now(),
  primary key (actor_id, film_id)
);
create table film_category (
  film_id integer not null references film,
  category_id integer not null references category,
  last_update timestamptz not null default now(),
  primary key (film_id, category_id)
);
create table store (
  store_id serial primary key,
  manager_staff_id integer not null,
  address_id integer not null references address,
  last_update timestamptz not null default now()
);
create unique index idx_unq_manager_staff_id on store (manager_staff_id);
create table staff (
  staff_id serial primary key,
  first_name text not null,
  last_name text not null,
  address_id integer not null references address,
  email text,
  store_id integer not null references store deferrable initially deferred,
  active boolean not null default true,
  username text not null,
  password text,
  last_update timestamptz not null default now(),
  picture bytea
);
alter table store add foreign key (manager_staff_id) references staff;
create table customer (
  customer_id serial primary key,
  store_id integer not null references store,
  first_name text not null,
  last_name text not null,
  email text,
  address_id integer not null references address,
  activebool boolean not null default true,
  create_date date not null default current_date,
  last_update timestamptz default now(),
  active integer
);
create table inventory (
  inventory_id serial primary key,
  film_id integer not null references film,
  store_id integer not null references store,
  last_update timestamptz not null default now()
);
create table rental (
  rental_id serial primary key,
  rental_date timestamptz not null,
  inventory_id integer not null references inventory,
  customer_id integer not null references customer,
  return_date timestamptz,
  staff_id integer not null references staff,
  last_update timestamptz not null default now(),
  rental_period tstzrange generated always as (tstzrange(rental_date, return_date)) stored
);
create unique index rental_unique on rental (rental_date, inventory_id, customer_id);
create table payment (
  payment_id serial not null,
  customer_id integer not null references customer,
  staff_id integer not null references staff,
  rental_id integer not null references rental,
  amount numeric(5, 2) not null,
  payment_date timestamptz not null,
  primary key (payment_date, payment_id)
) partition by range (payment_date);
create table payment_p2022_01 partition of payment for values from ('2022-01-01') to ('2022-02-01');
create table payment_p2022_02 partition of payment for values from ('2022-02-01') to ('2022-03-01');

create view actor_info as
  select a.actor_id, a.first_name, a.last_name, string_agg(distinct c.name, ', ') as film_info
  from actor a left join film_actor fa using (actor_id) left join film_category fc using (film_id)
  left join category c using (category_id) group by a.actor_id, a.first_name, a.last_name;
create view customer_list as
  select cu.customer_id as id, cu.first_name || ' ' || cu.last_name as name, a.address, a.postal_code as "zip code",
    a.phone, city.city, country.country, case when cu.activebool then 'active' else '' end as notes, cu.store_id as sid
  from customer cu join address a using (address_id) join city using (city_id) join country using (country_id);
create view film_list as
  select film.film_id as fid, film.title, film.description, category.name as category, film.rental_rate as price,
    film.length, film.rating, string_agg(actor.first_name || ' ' || actor.last_name, ', ') as actors
  from category left join film_category using (category_id) left join film using (film_id)
  join film_actor using (film_id) join actor using (actor_id)
  group by film.film_id, film.title, film.description, category.name, film.rental_rate, film.length, film.rating;
create view staff_list as
  select s.staff_id as id, s.first_name || ' ' || s.last_name as name, a.address, a.postal_code as "zip code", a.phone,
    city.city, country.country, s.store_id as sid
  from staff s join address a using (address_id) join city using (city_id) join country using (country_id);
create view sales_by_store as
  select (c.city || ',') || cy.country as store, sum(p.amount) as total_sales
  from payment p join rental r using (rental_id) join inventory i using (inventory_id) join store s on s.store_id = i.store_id
  join address a using (address_id) join city c using (city_id) join country cy using (country_id)
  group by cy.country, c.city;

insert into language (name) values ('English'), ('Italian');
insert into country (country) values ('Canada');
insert into city (city, country_id) values ('Lethbridge', 1);
insert into address (address, district, city_id, phone) values ('47 MySakila Drive', 'Alberta', 1, ''), ('28 MySQL Boulevard', 'QLD', 1, '');
begin;
insert into staff (staff_id, first_name, last_name, address_id, store_id, username, password, picture)
  values (1, 'Mike', 'Hillyer', 1, 1, 'Mike', 'not for clients', '\x89504e47');
insert into store (manager_staff_id, address_id) values (1, 1);
commit;
select setval('staff_staff_id_seq', 1);
insert into actor (first_name, last_name) values ('PENELOPE', 'GUINESS'), ('NICK', 'WAHLBERG');
insert into category (name) values ('Documentary');
insert into film (title, description, release_year, language_id, original_language_id, length, rating, special_features, fulltext)
  values ('ACADEMY DINOSAUR', 'A drama', 2006, 1, 2, 86, 'PG-13', '{Trailers,"Deleted Scenes"}', to_tsvector('academy dinosaur')),
    ('ACE GOLDFINGER', null, null, 1, null, null, null, null, to_tsvector('ace'));
insert into film_actor (actor_id, film_id) values (1, 1), (2, 1);
insert into film_category (film_id, category_id) values (1, 1);
insert into customer (store_id, first_name, last_name, address_id) values (1, 'MARY', 'SMITH', 2);
insert into inventory (film_id, store_id) values (1, 1);
insert into rental (rental_date, inventory_id, customer_id, return_date, staff_id)
  values ('2022-01-24 21:54:33+00', 1, 1, '2022-01-28 19:40:33+00', 1);
insert into payment (customer_id, staff_id, rental_id, amount, payment_date) values (1, 1, 1, 2.99, '2022-01-25 10:00+00');
