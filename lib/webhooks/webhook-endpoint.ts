/** Who is told of changes: the model of endpoints, and of what they are told. */

import { Model, type Pojo } from 'objection'
import { modelColumn } from '../models/catalogue.js'
import { writtenName } from '../models/table-reference.js'
import type { Queryable } from '../postgres/pg-types.js'
import { TABLES } from './webhook-tables.js'

/** Where webhooks go. Secrets are no declared properties: no serializer shows or takes them. */
export class WebhookEndpoint extends Model {
  static override tableName: string = TABLES.endpoints
  static override jsonSchema = {
    type: 'object',
    properties: {
      id: { readOnly: true },
      owner: { readOnly: true },
      url: { type: 'string', maxLength: 2_048 },
      description: { type: 'string', maxLength: 500 },
      events: {},
      is_active: { type: 'boolean' },
      problem: { readOnly: true },
      created_at: { readOnly: true },
    },
  }
  /** A UUID. */
  declare id: string
  /** Whose it is: the `id` of the user, as text. */
  declare owner: string
  /** Where webhooks are sent. */
  declare url: string
  /** What it is for, in the owner's words. */
  declare description: string
  /** What it is told: names of events, or `book.*` for all of a resource. */
  declare events: string[]
  /** False where it is told nothing: its owner has switched it off, or it has answered 410. */
  declare is_active: boolean
  /** Why it was switched off, where nobody has done so. */
  declare problem: string | null
  /** When it was made. */
  declare created_at: Date
}

/** What one endpoint is told of one change. */
export class WebhookDelivery extends Model {
  static override tableName = TABLES.deliveries
  /** The `webhook-id`: the same for each attempt. */
  declare id: string
  /** Who is told. */
  declare endpoint_id: string
  /** The change's `id`, as histories have it. */
  declare change_id: string
  /** Such as `book.updated`. */
  declare event: string
  /** `pending`, `delivered` or `dead`. */
  declare state: string
  /** How often it was tried. */
  declare attempts: number
  /** When it is tried next. */
  declare due_at: Date
  /** The last answer's status; null where there was none. */
  declare status: number | null
  /** Why there was none, in a sentence. */
  declare problem: string | null
  /** When the change was read. */
  declare created_at: Date
  /** When it was delivered or given up; null before. */
  declare ended_at: Date | null
}

// properties are columns as the database calls them, also where mappers of knex call them otherwise
for (const model of [WebhookEndpoint, WebhookDelivery]) {
  Object.defineProperty(model, 'columnNameMappers', {
    get(this: typeof Model) {
      const renamed = (name: (knex: Queryable, name: string) => string) => (row: Pojo) => {
        const knex = this.knex() as Queryable | undefined
        return knex ? Object.fromEntries(Object.entries(row).map(([key, value]) => [name(knex, key), value])) : row
      }
      return { parse: renamed(writtenName), format: renamed(modelColumn) }
    },
    // a model of one's own may have others
    set(this: typeof Model, value: unknown) {
      Object.defineProperty(this, 'columnNameMappers', { value, writable: true })
    },
  })
}
