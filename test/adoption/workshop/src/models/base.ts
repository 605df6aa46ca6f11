import { Model, ModelOptions, QueryContext } from 'objection';

export class BaseModel extends Model {
  id!: number;

  static get modelPaths() {
    return [__dirname];
  }
}

export class TimestampedModel extends BaseModel {
  createdAt!: Date;
  updatedAt!: Date;

  $beforeUpdate(options: ModelOptions, context: QueryContext) {
    super.$beforeUpdate(options, context);
    this.updatedAt = new Date();
  }
}
