/** Endpoints of webhooks, for their owners: a view set to register, or to make one's own of. */

import type { Knex } from 'knex'
import { ArrayField } from '../fields/array-field.js'
import { ChoiceField } from '../fields/choice-fields.js'
import { DateTimeField } from '../fields/date-time-fields.js'
import type { SerializerContext } from '../fields/field.js'
import { BigIntegerField, IntegerField } from '../fields/integer-fields.js'
import { StringField } from '../fields/string-field.js'
import { userText } from '../http/caller.js'
import { AuthenticationFailed, ValidationError } from '../kernel/errors.js'
import { oncePer } from '../kernel/once-per.js'
import { IsAuthenticated } from '../permissions/user-permissions.js'
import { afterCommit } from '../postgres/after-commit.js'
import type { DeclaredFields, SerializerClass } from '../serializers/contract.js'
import { ModelSerializer } from '../serializers/model-serializer.js'
import { Serializer } from '../serializers/serializer.js'
import { action } from '../views/action.js'
import type { DescribedWebhook } from '../views/described-webhook.js'
import type { Endpoint } from '../views/endpoint.js'
import { ModelViewSet } from '../views/view-set.js'
import { promoteNext, replayDeliveries } from './delivery-table.js'
import { type ReceiverOptions, receiverProblem } from './receiver.js'
import { createSecret } from './sign-webhook.js'
import { describeTold } from './told-resources.js'
import { WebhookDelivery, WebhookEndpoint } from './webhook-endpoint.js'
import { isAmong } from './webhook-events.js'
import { STILL_SIGNS } from './webhook-tables.js'

/** Hours that a secret which was replaced still signs, and the most of them. */
const OLD_SECRET_HOURS = 24
const MOST_OLD_SECRETS = 4

/** What the validators of an endpoint ask its view set. */
type Declaring = Pick<typeof WebhookEndpointViewSet, 'events' | 'receivers'>

function declaring({ view }: SerializerContext): Declaring {
  return (view as { readonly constructor: unknown }).constructor as Declaring
}

/** @throws ValidationError */
function checkReceiver(url: string, context: SerializerContext): void {
  const problem = receiverProblem(url, declaring(context).receivers)
  if (problem !== undefined) throw new ValidationError(`Not a URL that webhooks are sent to: ${problem}.`)
}

/** @throws ValidationError */
function checkEvents(names: readonly string[], context: SerializerContext): void {
  const { events } = declaring(context)
  const unknown = names.find((name) => !events.includes(name) && !isAmong(events, name))
  if (unknown !== undefined) throw new ValidationError(`"${unknown}" is none of the events: ${events.join(', ')}.`)
}

/** What endpoints show of themselves and take: `url`, `description`, `events` and `is_active`. */
export class WebhookEndpointSerializer extends ModelSerializer<WebhookEndpoint> {
  static override model = WebhookEndpoint
  static override schemaName = 'WebhookEndpoint'
  static override fields = ['id', 'url', 'description', 'events', 'is_active', 'problem', 'created_at']
  static override declaredFields: DeclaredFields = {
    url: new StringField({ maxLength: 2_048, validators: [checkReceiver] }),
    events: new ArrayField({
      child: new StringField({ maxLength: 200 }),
      minLength: 1,
      maxLength: 100,
      validators: [checkEvents],
    }),
  }
}

/** What is told of an endpoint's secret. */
class SecretSerializer extends Serializer {
  static override schemaName = 'WebhookSecret'
  static override declaredFields: DeclaredFields = {
    secret: new StringField({ readOnly: true }),
    old_secret_until: new DateTimeField({ readOnly: true, allowNull: true }),
  }
}

class WebhookDeliverySerializer extends ModelSerializer<WebhookDelivery> {
  static override model = WebhookDelivery
  static override schemaName = 'WebhookDelivery'
  static override fields = [
    'id',
    'change_id',
    'event',
    'state',
    'attempts',
    'due_at',
    'status',
    'problem',
    'created_at',
    'ended_at',
  ]
  static override readOnlyFields = WebhookDeliverySerializer.fields
}

class ReplaySerializer extends Serializer {
  static override schemaName = 'WebhookReplay'
  static override declaredFields: DeclaredFields = {
    deliveries: new ArrayField({ child: new StringField(), required: false, maxLength: 1_000 }),
  }
}

class ReplayedSerializer extends Serializer {
  static override schemaName = 'WebhookReplayed'
  static override declaredFields: DeclaredFields = { replayed: new IntegerField({ readOnly: true }) }
}

const STATES = ['pending', 'delivered', 'dead']

const DELIVERIES = {
  state: new ChoiceField({ choices: STATES, required: false, helpText: 'Those in this state.' }),
  before: new BigIntegerField({ required: false, minValue: 1, helpText: 'Those of changes before this one.' }),
  limit: new IntegerField({ required: false, minValue: 1, maxValue: 100, default: 25, helpText: 'The most of them.' }),
}

/**
 * Endpoints that webhooks are sent to. Each caller sees and writes his own, whom `ctx.state.user.id` tells from others.
 * Beside the standard actions there are `GET` and `POST /{id}/secret`, to read and to replace the secret, `GET
 * /{id}/deliveries` and `POST /{id}/replay`. Subclasses name the events that there are.
 * @see docs/reference/webhooks.md
 * @example
 * class HookViewSet extends WebhookEndpointViewSet {
 *   static override events = ['book.*', 'author.created']
 * }
 */
export class WebhookEndpointViewSet extends ModelViewSet<WebhookEndpoint> {
  static override model: typeof WebhookEndpoint = WebhookEndpoint
  static override permissionClasses = [IsAuthenticated]
  /** What endpoints may be told of: names of events, and `book.*` for all of a resource. @default none */
  static events: readonly string[] = []
  /** Which receivers there may be. @default any with a public address, by https */
  static receivers: ReceiverOptions = {}

  /** @internal */
  static describeWebhooks(endpoints: readonly Endpoint[]): readonly DescribedWebhook[] {
    return describeTold(this.events, endpoints)
  }

  override getQueryset() {
    const { model } = this.constructor as typeof WebhookEndpointViewSet
    return model.query(this.knex as Knex).where('owner', userText(this.ctx) ?? null)
  }

  override async performCreate(serializer: Serializer): Promise<unknown> {
    const owner = userText(this.ctx)
    if (owner === undefined) throw new AuthenticationFailed()
    return serializer.save({ owner, secret: createSecret() })
  }

  override async performUpdate(serializer: Serializer): Promise<unknown> {
    const { is_active } = serializer.validatedData as { is_active?: boolean }
    // whoever switches it on has mended it
    return serializer.save(is_active ? { problem: null, failures: 0, paused_until: null } : {})
  }

  /** Answers `GET /{id}/secret`. */
  @action({ methods: ['GET'], detail: true, urlPath: 'secret', outputSerializer: SecretSerializer })
  async secret(): Promise<unknown> {
    return this.#secretOf(await this.getObject())
  }

  /** Answers `POST /{id}/secret`: a new one. What is sent in the next 24 hours is signed by the one before, too. */
  @action({ methods: ['POST'], detail: true, urlPath: 'secret', outputSerializer: SecretSerializer })
  async replaceSecret(): Promise<unknown> {
    const endpoint = await this.getObjectToWrite()
    const trx = this.trx as Knex.Transaction
    await trx.raw(
      `update ?? set secret = ?, old_secrets =
         jsonb_build_array(jsonb_build_object('secret', secret, 'until', now() + interval '${OLD_SECRET_HOURS} hours')) ||
         coalesce((select jsonb_agg(old order by place) from jsonb_array_elements(old_secrets) with ordinality as each(old, place)
           where ${STILL_SIGNS} and place < ${MOST_OLD_SECRETS}), '[]')
       where id = ?`,
      [this.#table, createSecret(), endpoint.id],
    )
    return this.#secretOf(endpoint)
  }

  /** Answers `GET /{id}/deliveries`: what the endpoint was told and is to be told, the last first. */
  @action({
    methods: ['GET'],
    detail: true,
    queryParameters: DELIVERIES,
    outputSerializer: [WebhookDeliverySerializer],
  })
  async deliveries({ state, before, limit = 25 }: AskedDeliveries): Promise<unknown> {
    const { id } = await this.getObject()
    // bodies are large, and not shown
    const query = WebhookDelivery.query(this.trx ?? (this.knex as Knex)).select(WebhookDeliverySerializer.fields)
    void query.where('endpoint_id', id)
    // nobody knows yet whether the owner sees what these are of
    void query.whereNot('state', 'postponed')
    if (state !== undefined) void query.where('state', state)
    if (before !== undefined) void query.where('change_id', '<', String(before))
    const found = await query.orderBy('change_id', 'desc').limit(limit)
    return new WebhookDeliverySerializer({ obj: found, many: true, context: this.getSerializerContext() }).data
  }

  /** Answers `POST /{id}/replay`: what was given up is tried again from now on; all of it, or what `deliveries` names. */
  @action({ methods: ['POST'], detail: true, inputSerializer: ReplaySerializer, outputSerializer: ReplayedSerializer })
  async replay({ deliveries }: { readonly deliveries?: readonly string[] }): Promise<unknown> {
    const { id } = await this.getObjectToWrite()
    const trx = this.trx as Knex.Transaction
    const queues = await replayDeliveries(trx, id, deliveries)
    afterCommit(trx, () => promoteNext(this.knex as Knex, queues))
    return { replayed: queues.length }
  }

  get #table(): string {
    return (this.constructor as typeof WebhookEndpointViewSet).model.tableName
  }

  async #secretOf({ id }: WebhookEndpoint): Promise<unknown> {
    this.ctx.set('Cache-Control', 'no-store')
    const knex = (this.trx ?? this.knex) as Knex
    const { rows } = await knex.raw<{ rows: readonly object[] }>(
      `select secret, (select max((old ->> 'until')::timestamptz) from jsonb_array_elements(old_secrets) as old where ${STILL_SIGNS})
         as old_secret_until from ?? where id = ?`,
      [this.#table, id],
    )
    return new SecretSerializer({ obj: rows[0] as object, context: this.getSerializerContext() }).data
  }
}

/** The serializer of a model of one's own. */
const serializerOf = oncePer(
  (own: typeof WebhookEndpoint): SerializerClass =>
    class extends WebhookEndpointSerializer {
      static override model = own
      static override schemaName = own.name
    },
)

// a field of the class would show and create the rows of one table, whichever model a subclass has
Object.defineProperty(WebhookEndpointViewSet, 'serializerClass', {
  get(this: typeof WebhookEndpointViewSet) {
    return this.model === WebhookEndpoint ? WebhookEndpointSerializer : serializerOf(this.model)
  },
})

interface AskedDeliveries {
  readonly state?: string
  readonly before?: bigint | number | string
  readonly limit?: number
}
