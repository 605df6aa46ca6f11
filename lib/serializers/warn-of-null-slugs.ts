/** Warns of slugs that may be null under a field that clients write: null stands for no object, and for one without a slug. */
import { SlugRelatedField } from '../fields/slug-related-field.js'
import { oncePer } from '../kernel/once-per.js'
import { describeModel } from '../models/describe-model.js'
import { modelName } from '../models/objection.js'
import type { SerializerClass } from './contract.js'
import { serializerPlan } from './plan.js'

const told = oncePer<SerializerClass, Set<string>>(() => new Set())

/** Warns once for each field. */
export function warnOfNullSlugs(serializer: SerializerClass): void {
  const known = told(serializer)
  for (const { name, field, relation, readable } of serializerPlan(serializer).writable) {
    if (!(field instanceof SlugRelatedField && relation && readable) || known.has(name)) continue
    const { slugField } = field.options
    if (describeModel(relation.model).columns.get(slugField)?.holdsNull !== true) continue
    known.add(name)
    process.emitWarning(
      `${serializer.name}: field "${name}" shows null for an object of ${modelName(relation.model)} whose "${slugField}" is ` +
        'null, as for none; clients cannot name such an object. Make the column NOT NULL, choose another slugField, or set readOnly: true',
      { code: 'KOA_VIEWSETS_NULL_SLUG' },
    )
  }
}
