import { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.schema.createTable('users', (table) => {
    table.increments('id').primary();
    table.string('email').notNullable().unique();
    table.string('password').notNullable();
    table.boolean('isAdmin').notNullable().defaultTo(false);
  });
  await knex.schema.createTable('customers', (table) => {
    table.increments('id').primary();
    table.string('name', 80).notNullable();
    table.string('phone', 20);
    table.timestamps(true, true, true);
  });
  await knex.schema.createTable('bikes', (table) => {
    table.increments('id').primary();
    table.integer('customerId').notNullable().references('id').inTable('customers').onDelete('CASCADE');
    table.string('frameNumber', 40).notNullable();
    table.string('brand', 40);
  });
  await knex.schema.createTable('suppliers', (table) => {
    table.increments('id').primary();
    table.string('name', 80).notNullable();
  });
  await knex.schema.createTable('parts', (table) => {
    table.increments('id').primary();
    table.string('sku', 20).notNullable().unique();
    table.string('name', 80).notNullable();
    table.integer('supplierId').references('id').inTable('suppliers');
    table.decimal('price', 8, 2).notNullable();
    table.integer('stock').notNullable().defaultTo(0);
    table.timestamps(true, true, true);
  });
  await knex.schema.createTable('jobs', (table) => {
    table.increments('id').primary();
    table.integer('bikeId').notNullable().references('id').inTable('bikes').onDelete('CASCADE');
    table.string('state', 10).notNullable().defaultTo('open');
    table.text('notes');
    table.timestamps(true, true, true);
  });
  await knex.schema.createTable('jobParts', (table) => {
    table.integer('jobId').notNullable().references('id').inTable('jobs').onDelete('CASCADE');
    table.integer('partId').notNullable().references('id').inTable('parts');
    table.integer('quantity').notNullable().defaultTo(1);
    table.primary(['jobId', 'partId']);
  });
}

export async function down(knex: Knex): Promise<void> {
  for (const table of ['jobParts', 'jobs', 'parts', 'suppliers', 'bikes', 'customers', 'users']) {
    await knex.schema.dropTable(table);
  }
}
