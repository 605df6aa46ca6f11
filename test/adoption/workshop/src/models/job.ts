import { Model } from 'objection';
import { TimestampedModel } from './base';
import { Part } from './part';

export class Job extends TimestampedModel {
  bikeId!: number;
  state!: 'open' | 'done';
  notes?: string | null;
  parts?: Part[];

  static get tableName() {
    return 'jobs';
  }

  static get relationMappings() {
    return {
      bike: {
        relation: Model.BelongsToOneRelation,
        modelClass: 'bike',
        join: { from: 'jobs.bikeId', to: 'bikes.id' },
      },
      parts: {
        relation: Model.ManyToManyRelation,
        modelClass: 'part',
        join: {
          from: 'jobs.id',
          through: { from: 'jobParts.jobId', to: 'jobParts.partId', extra: ['quantity'] },
          to: 'parts.id',
        },
      },
    };
  }
}

export default Job;
