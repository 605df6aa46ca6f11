/** A schema of the size and shape of an encyclopedia's: entities with types, aliases, tags and annotations, and a link table for each pair. */

const ENTITIES = [
  ...['area', 'artist', 'event', 'genre', 'instrument', 'label', 'mood', 'place', 'recording', 'release'],
  ...['release_group', 'series', 'url', 'work'],
]

/** SQL of tables in the schema `music`, of so many entities: some 290 of all fourteen. */
export function encyclopedia(count: number): string {
  const entities = ENTITIES.slice(0, count)
  return [
    'create schema music; set search_path = music, public;',
    `create table editor (id serial primary key, name varchar(64) not null, privs int default 0, email varchar(64), website varchar(255),
      bio text, member_since timestamptz default now(), last_login_date timestamptz default now(), password varchar(128) not null,
      ha1 char(32) not null, deleted bool not null default false);`,
    'create table tag (id serial primary key, name varchar(255) not null unique, ref_count int not null default 0);',
    'create table annotation (id serial primary key, editor int not null references editor, text text, changelog varchar(255), created timestamptz default now());',
    'create table link_type (id serial primary key, parent int references link_type, child_order int not null default 0, gid uuid not null unique, name varchar(255) not null);',
    'create table link (id serial primary key, link_type int not null references link_type, begin_date_year smallint, ended bool not null default false);',
    ...entities.flatMap((name) => [
      `create table ${name}_type (id serial primary key, name varchar(255) not null, parent int references ${name}_type, child_order int not null default 0, description text, gid uuid not null);`,
      `create table ${name} (id serial primary key, gid uuid not null unique, name varchar not null, type int references ${name}_type,
        ${name === 'area' ? '' : 'area int references area, begin_area int references area,'} comment varchar(255) not null default '',
        edits_pending int not null default 0 check (edits_pending >= 0), last_updated timestamptz default now(), ended bool not null default false);`,
      `create table ${name}_alias_type (id serial primary key, name text not null, parent int references ${name}_alias_type, gid uuid not null);`,
      `create table ${name}_alias (id serial primary key, ${name} int not null references ${name}, name varchar not null, locale text, type int references ${name}_alias_type, primary_for_locale bool not null default false);`,
      `create table ${name}_annotation (${name} int not null references ${name}, annotation int not null references annotation, primary key (${name}, annotation));`,
      `create table ${name}_gid_redirect (gid uuid primary key, new_id int not null references ${name}, created timestamptz default now());`,
      `create table ${name}_tag (${name} int not null references ${name}, tag int not null references tag, count int not null, last_updated timestamptz default now(), primary key (${name}, tag));`,
      `create table ${name}_tag_raw (${name} int not null references ${name}, editor int not null references editor, tag int not null references tag, is_upvote bool not null default true, primary key (${name}, editor, tag));`,
      `create table ${name}_meta (id int primary key references ${name}, rating smallint check (rating between 0 and 100), rating_count int);`,
      `create table ${name}_rating_raw (${name} int not null references ${name}, editor int not null references editor, rating smallint not null, primary key (${name}, editor));`,
      `create table ${name}_attribute_type (id serial primary key, name varchar(255) not null, free_text bool not null, gid uuid not null);`,
      `create table ${name}_attribute (id serial primary key, ${name} int not null references ${name}, ${name}_attribute_type int not null references ${name}_attribute_type, ${name}_attribute_text text);`,
      `create table edit_${name} (edit int not null, ${name} int not null references ${name}, primary key (edit, ${name}));`,
    ]),
    ...entities.flatMap((one, index) =>
      entities.slice(index).map(
        (
          other,
        ) => `create table l_${one}_${other} (id serial primary key, link int not null references link, entity0 int not null references ${one},
          entity1 int not null references ${other}, edits_pending int not null default 0, link_order int not null default 0);`,
      ),
    ),
  ].join('\n')
}
