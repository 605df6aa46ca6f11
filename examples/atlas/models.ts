/** The atlas's models, as any Objection application writes them. What the columns are, the database knows. */
import type { Generated } from 'koa-viewsets'
import { Model } from 'objection'

/** A country, with its codes of ISO 3166. */
export class Country extends Model {
  static override tableName = 'countries'

  static override relationMappings = () => ({
    cities: {
      relation: Model.HasManyRelation,
      modelClass: City,
      join: { from: 'countries.id', to: 'cities.country_id' },
    },
  })

  declare id: number
  declare name: string
  declare official_name: string
  declare cca2: string
  declare cca3: string
  declare region: string
  declare subregion: string | null
  declare capital: string | null
  declare area: string | null
  declare landlocked: Generated<boolean>
  declare independent: boolean | null
  declare un_member: Generated<boolean>
  declare latitude: string
  declare longitude: string
  declare languages: unknown
  declare currencies: unknown
  declare flag: string | null
  declare cities?: City[]
}

/** A city, as GeoNames knows it. */
export class City extends Model {
  static override tableName = 'cities'

  static override relationMappings = () => ({
    country: {
      relation: Model.BelongsToOneRelation,
      modelClass: Country,
      join: { from: 'cities.country_id', to: 'countries.id' },
    },
  })

  declare id: number
  declare geoname_id: number
  declare name: string
  declare country_id: number
  declare admin_code: string | null
  declare feature_code: Generated<string>
  declare population: Generated<number>
  declare latitude: string
  declare longitude: string
  declare created_at: Generated<Date>
  declare updated_at: Generated<Date>
  declare country?: Country

  override $beforeUpdate(): void {
    this.updated_at = new Date()
  }
}
