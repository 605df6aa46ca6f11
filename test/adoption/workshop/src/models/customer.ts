import { Model } from 'objection';
import { TimestampedModel } from './base';
import { Bike } from './bike';

export class Customer extends TimestampedModel {
  name!: string;
  phone?: string | null;
  bikes?: Bike[];

  static get tableName() {
    return 'customers';
  }

  static get jsonSchema() {
    return {
      type: 'object',
      required: ['name'],
      properties: {
        name: { type: 'string', minLength: 1, maxLength: 80 },
        phone: { type: ['string', 'null'], maxLength: 20 },
      },
    };
  }

  static get relationMappings() {
    return {
      bikes: {
        relation: Model.HasManyRelation,
        modelClass: 'bike',
        join: { from: 'customers.id', to: 'bikes.customerId' },
      },
    };
  }
}

export default Customer;
