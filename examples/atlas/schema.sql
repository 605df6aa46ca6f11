-- The atlas: the countries of the world, and its cities with at least 1,000 inhabitants.

CREATE TABLE countries (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name varchar(100) NOT NULL,
  official_name varchar(200) NOT NULL,
  cca2 varchar(2) NOT NULL UNIQUE,
  cca3 varchar(3) NOT NULL UNIQUE,
  region varchar(50) NOT NULL,
  subregion varchar(50),
  capital varchar(100),
  area numeric(12, 2) CHECK (area >= 0),
  landlocked boolean NOT NULL DEFAULT false,
  independent boolean,
  un_member boolean NOT NULL DEFAULT false,
  latitude numeric(9, 5) NOT NULL CHECK (latitude BETWEEN -90 AND 90),
  longitude numeric(9, 5) NOT NULL CHECK (longitude BETWEEN -180 AND 180),
  languages jsonb NOT NULL DEFAULT '{}',
  currencies jsonb NOT NULL DEFAULT '{}',
  flag varchar(10)
);

CREATE TABLE cities (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  geoname_id integer NOT NULL UNIQUE,
  name varchar(200) NOT NULL,
  country_id integer NOT NULL REFERENCES countries (id),
  admin_code varchar(20),
  feature_code varchar(10) NOT NULL DEFAULT 'PPL',
  population integer NOT NULL DEFAULT 0 CHECK (population >= 0),
  latitude numeric(9, 5) NOT NULL CHECK (latitude BETWEEN -90 AND 90),
  longitude numeric(9, 5) NOT NULL CHECK (longitude BETWEEN -180 AND 180),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX ON cities (country_id);
CREATE INDEX ON cities (population, id);
CREATE INDEX ON cities (name);
