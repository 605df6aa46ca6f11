/** Starts the PostgreSQL of a test run, or takes the one of DATABASE_URL. */
import type { ClientConfig } from 'pg'
import type { TestProject } from 'vitest/node'
import { startPostgres } from '../../examples/support/postgres.js'

declare module 'vitest' {
  interface ProvidedContext {
    /** How to reach the server of this test run, as a superuser or at least as one who may create databases. */
    postgres: ClientConfig
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const url = process.env['DATABASE_URL']
  if (url) {
    project.provide('postgres', { connectionString: url })
    return async () => {}
  }
  // Test files run side by side, each with a pool of ten.
  const postgres = await startPostgres({ settings: { max_connections: '200' } })
  project.provide('postgres', { ...postgres.connection })
  return () => postgres.stop()
}
