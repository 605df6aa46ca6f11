/** What stands in a policy of PostgreSQL for a value of the caller: a setting of the connection. */

/** Why a rule cannot be said in SQL for callers who are not there yet. */
export class NotSaid extends Error {}

/** A value that a caller will bring, by a setting. One that is missing, or empty, is unknown. */
export class CallerSetting {
  /** The value, as code says it: `user.team.id`. */
  readonly path: string

  constructor(path: string) {
    this.path = path
  }

  /** The setting: `app.user_team_id`. */
  get name(): string {
    return `app.${this.path.replace('ctx.state.', '').replaceAll('.', '_')}`
  }

  get #text(): string {
    return `nullif(current_setting('${this.name}', true), '')`
  }

  /** A condition that the value is known. */
  get isKnown(): string {
    return `${this.#text} is not null`
  }

  /** The value as one of a type. */
  as(type: string): SettingSql {
    return new SettingSql(`(${this.#text})::${type}`)
  }

  /** The values of a list, which is JSON, as those of a type. One value is a list, too. */
  asList(type: string): SettingSql {
    return new SettingSql(
      `array(select value #>> '{}' from jsonb_path_query((${this.#text})::jsonb, '$[*]') as value)::${type}[]`,
    )
  }

  /** A condition that no value of a list is missing. */
  get isWhole(): string {
    return `not (${this.#text})::jsonb @> 'null'`
  }
}

/** SQL in the place of a value that is bound. */
export class SettingSql {
  readonly sql: string

  constructor(sql: string) {
    this.sql = sql
  }
}
