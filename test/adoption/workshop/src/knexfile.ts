import path from 'path';
import { Knex } from 'knex';
import { knexSnakeCaseMappers } from 'objection';

const base: Knex.Config = {
  client: 'pg',
  connection: process.env.DATABASE_URL || 'postgres://workshop@localhost/workshop',
  pool: { min: 2, max: 10 },
  migrations: {
    directory: path.join(__dirname, '..', 'migrations'),
    tableName: 'knex_migrations',
    loadExtensions: ['.js'],
  },
  ...knexSnakeCaseMappers(),
};

const config: { [environment: string]: Knex.Config } = {
  development: { ...base, debug: false },
  test: { ...base, pool: { min: 0, max: 4 } },
  production: { ...base, acquireConnectionTimeout: 10000 },
};

module.exports = config;
export default config;
