-- What people add to the atlas: travel lists, what is on them, and photos. Run at each start.

CREATE TABLE IF NOT EXISTS users (
  id integer PRIMARY KEY,
  name varchar(50) NOT NULL UNIQUE,
  is_staff boolean NOT NULL DEFAULT false
);

CREATE TABLE IF NOT EXISTS lists (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  owner_id integer NOT NULL REFERENCES users (id),
  title varchar(100) NOT NULL,
  visibility varchar(10) NOT NULL DEFAULT 'private' CHECK (visibility IN ('private', 'public')),
  notes text NOT NULL DEFAULT '',
  published_on date,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  deleted_at timestamptz
);

CREATE TABLE IF NOT EXISTS entries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  list_id bigint NOT NULL REFERENCES lists (id),
  city_id integer NOT NULL REFERENCES cities (id),
  day date NOT NULL,
  budget numeric(8, 2) CHECK (budget >= 0),
  note varchar(500) NOT NULL DEFAULT '',
  UNIQUE (list_id, city_id, day)
);

CREATE TABLE IF NOT EXISTS photos (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  owner_id integer NOT NULL REFERENCES users (id),
  city_id integer NOT NULL REFERENCES cities (id),
  caption varchar(200) NOT NULL DEFAULT '',
  image varchar(200) NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX IF NOT EXISTS lists_owner_id ON lists (owner_id);
CREATE INDEX IF NOT EXISTS entries_city_id ON entries (city_id);
CREATE INDEX IF NOT EXISTS photos_city_id ON photos (city_id);
