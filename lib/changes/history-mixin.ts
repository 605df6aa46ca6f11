/** The action `history`: what has changed of an object, the last change first. */

import type { Model } from 'objection'
import { DateTimeField } from '../fields/date-time-fields.js'
import { BigIntegerField, IntegerField } from '../fields/integer-fields.js'
import { JSONField } from '../fields/json-field.js'
import { StringField } from '../fields/string-field.js'
import { described } from '../kernel/declarations.js'
import type { Queryable } from '../postgres/pg-types.js'
import type { DeclaredFields } from '../serializers/contract.js'
import { Serializer } from '../serializers/serializer.js'
import { action } from '../views/action.js'
import type { ViewConstructor } from '../views/mixins/mixin.js'
import { requireChangesTable } from './changes-table.js'
import { readHistory } from './read-history.js'

/** A change, as a history shows it. */
class ChangeSerializer extends Serializer {
  static override schemaName = 'Change'
  static override declaredFields: DeclaredFields = {
    id: new BigIntegerField({ readOnly: true }),
    action: new StringField({ readOnly: true }),
    made_at: new DateTimeField({ readOnly: true }),
    caller: new StringField({ readOnly: true, allowNull: true }),
    request_id: new StringField({ readOnly: true, allowNull: true }),
    before: new JSONField({ readOnly: true }),
    after: new JSONField({ readOnly: true }),
  }
}

/** Query parameters of a history. */
const QUERY = {
  before: new BigIntegerField({ required: false, minValue: 1, helpText: 'Changes before this one, by its id.' }),
  limit: new IntegerField({ required: false, minValue: 1, maxValue: 100, default: 25, helpText: 'The most changes.' }),
}

/**
 * Adds `GET /<prefix>/{id}/history`: the changes of an object that the caller sees now, the last first, 25 of them or
 * `?limit=` up to 100; `?before=` goes on behind one. Of their values it shows those fields that the caller may read of the
 * object now; what is masked, and keys of objects that rules keep from some callers, stands in no history.
 * @see docs/reference/changes.md
 * @example class BookViewSet extends HistoryMixin(ChangesMixin(ModelViewSet<Book>)) {}
 */
export function HistoryMixin<Base extends ViewConstructor>(base: Base) {
  const mixed = class extends base {
    /** @internal */
    static async checkHistory(knex: Queryable | undefined): Promise<void> {
      if (knex) await requireChangesTable(knex)
    }

    /** Answers `GET /<prefix>/{id}/history`. */
    @action({ methods: ['GET'], detail: true, queryParameters: QUERY, outputSerializer: [ChangeSerializer] })
    async history(asked: { readonly before?: number | string; readonly limit?: number }): Promise<unknown> {
      const object = (await this.getObject()) as Model
      return readHistory(this, object, asked)
    }
  }
  return described(mixed)
}
