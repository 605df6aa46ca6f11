import { Model } from 'objection';
import { BaseModel } from './base';
import { Job } from './job';

export class Bike extends BaseModel {
  customerId!: number;
  frameNumber!: string;
  brand?: string | null;
  jobs?: Job[];

  static get tableName() {
    return 'bikes';
  }

  static get relationMappings() {
    return {
      customer: {
        relation: Model.BelongsToOneRelation,
        modelClass: 'customer',
        join: { from: 'bikes.customerId', to: 'customers.id' },
      },
      jobs: {
        relation: Model.HasManyRelation,
        modelClass: 'job',
        join: { from: 'bikes.id', to: 'jobs.bikeId' },
      },
    };
  }
}

export default Bike;
