import { BaseModel } from './base';

export class Supplier extends BaseModel {
  name!: string;

  static get tableName() {
    return 'suppliers';
  }
}

export default Supplier;
