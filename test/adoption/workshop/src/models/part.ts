import { Model } from 'objection';
import { TimestampedModel } from './base';
import { Supplier } from './supplier';

export class Part extends TimestampedModel {
  sku!: string;
  name!: string;
  supplierId?: number | null;
  price!: string;
  stock!: number;
  supplier?: Supplier | null;

  static get tableName() {
    return 'parts';
  }

  static get jsonSchema() {
    return {
      type: 'object',
      required: ['sku', 'name', 'price'],
      properties: {
        sku: { type: 'string', pattern: '^[A-Z0-9-]+$', maxLength: 20 },
        name: { type: 'string', minLength: 1, maxLength: 80 },
        supplierId: { type: ['integer', 'null'] },
        price: { anyOf: [{ type: 'string' }, { type: 'number' }] },
        stock: { type: 'integer', minimum: 0 },
      },
    };
  }

  static get relationMappings() {
    return {
      supplier: {
        relation: Model.BelongsToOneRelation,
        modelClass: 'supplier',
        join: { from: 'parts.supplierId', to: 'suppliers.id' },
      },
    };
  }
}

export default Part;
