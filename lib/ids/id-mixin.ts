/** `IDMixin`: models whose objects go by external ids. */
import type { Model, QueryContext } from 'objection'
import { passHook } from '../models/model-traits.js'
import type { ModelClass } from '../models/objection.js'
import type { EncodeContext, IDContext, IDValue } from './codec.js'
import { type ExternalIds, externalIds } from './external-ids.js'
import { type IDConfig, type PublicIDConfig, readIDConfig, readPublicIDConfig } from './id-config.js'

// biome-ignore lint/suspicious/noExplicitAny: TypeScript demands it of a mixin's base
type ModelConstructor = new (...args: any[]) => Model

/** The statics of a model with external ids. */
export interface Identified {
  /**
   * The external id of an object.
   * @param key the primary key; where ids are stored, the `public_id`
   * @throws {AuthenticationFailed} ids are per user, and `user` is missing
   */
  encodeId(key: IDValue, context?: EncodeContext): string
  /**
   * The primary key (where ids are stored, the `public_id`) behind an external id; undefined for anything that is no id
   * of this model for this user and now. Whether there is such an object is another question.
   */
  decodeId(text: string, context?: IDContext): number | string | undefined
}

/** What `IDMixin` adds to that. */
export interface WithIDConfig {
  /** How ids are made. */
  idConfig: IDConfig | null
}

/** What `PublicIDMixin` adds to that. */
export interface WithPublicIDConfig {
  /** How ids are made. */
  publicIdConfig: PublicIDConfig | null
}

/**
 * Gives a model external ids: its integer primary keys appear in no request and no response, and a forged, expired or
 * foreign id is a missing object.
 * @example
 * class Article extends IDMixin(Model) {
 *   static override tableName = 'articles'
 *   static override idConfig = { mode: 'signed', alphabet: 'mn7swcxDfgkGrBtv4qj6phd3b952CzF8', hmacKeys: [process.env.ID_KEY ?? ''] }
 * }
 * Article.encodeId(42) // 'nk.90ff444fbf7f9c43'
 */
export function IDMixin<Base extends ModelConstructor>(base: Base): Base & Identified & WithIDConfig {
  return class extends identified(base) {
    /** How ids are made; a model without it is a `ConfigurationError`. @default null */
    static idConfig: IDConfig | null = null

    /** @internal */
    static describeIds(): object {
      return readIDConfig(this.name, this.idConfig)
    }
  }
}

/**
 * The older form of external ids: `encoded_pk`, `random` or `uuid7`.
 * @example
 * class Photo extends PublicIDMixin(Model) {
 *   static override tableName = 'photos'   // with a column public_id
 *   static override publicIdConfig = { strategy: 'uuid7' }
 * }
 */
export function PublicIDMixin<Base extends ModelConstructor>(base: Base): Base & Identified & WithPublicIDConfig {
  return class extends identified(base) {
    /** How ids are made; a model without it is a `ConfigurationError`. @default null */
    static publicIdConfig: PublicIDConfig | null = null

    /** @internal */
    static describeIds(): object {
      return readPublicIDConfig(this.name, this.publicIdConfig)
    }
  }
}

/** What both have in common. */
function identified<Base extends ModelConstructor>(base: Base) {
  const mixed = class extends base {
    static encodeId(key: IDValue, context: EncodeContext = {}): string {
      return idsOf(this).encode(key, context)
    }

    static decodeId(text: string, context: IDContext = {}): number | string | undefined {
      return idsOf(this).decode(text, context)
    }

    override $beforeInsert(queryContext: QueryContext) {
      idsOf(this.constructor).fill(this as Record<string, unknown>)
      return super.$beforeInsert(queryContext)
    }
  }
  passHook(mixed.prototype, base.prototype as Model)
  return mixed
}

function idsOf(model: unknown): ExternalIds {
  return externalIds(model as ModelClass) as ExternalIds
}
