/** Warnings about what a serializer shows: columns that look like secrets (promise A10), models with a `$formatJson` or `toJSON`, slugs that are null. */
import { SlugRelatedField } from '../fields/key-related-fields.js'
import { firstTime, oncePer } from '../kernel/once-per.js'
import { isSecretName } from '../kernel/telling-names.js'
import { describeModel } from '../models/describe-model.js'
import { jsonMethodOf } from '../models/hidden-attributes.js'
import { type ModelClass, modelName } from '../models/objection.js'
import type { SerializerClass } from './contract.js'
import { declaredFieldsOf } from './declared-fields.js'
import type { ModelSerializer } from './model-serializer.js'
import { serializerPlan } from './plan.js'

const told = oncePer<ModelClass, Set<string>>(() => new Set())

/** Looks at what a serializer shows of all columns of its model, for itself; warns once for each column. */
export function warnOfSecrets(serializer: SerializerClass): void {
  for (const { name, model } of secretsOf(serializer)) {
    warn(
      `${serializer.name}: shows "${name}" of ${model}, though nothing names it (fields = '__all__'); name the fields to show, ` +
        `or mark it writeOnly in the jsonSchema of ${model}`,
    )
  }
}

/** Warns of columns called like secrets that `nested` shows inside `serializer`. */
export function warnOfNestedSecrets(serializer: SerializerClass, nested: SerializerClass): void {
  for (const { name, model } of secretsOf(nested)) {
    warn(
      `${serializer.name}: shows "${name}" of ${model} with its objects, though nothing names it (depth, or ` +
        `fields = '__all__' of ${nested.name}); mark it writeOnly in the jsonSchema of ${model}, or nest a ` +
        'serializer whose fields name what to show',
    )
  }
}

interface Secret {
  readonly name: string
  readonly model: string
}

/** The columns that look like secrets and that a serializer has not named; each is given once. */
function secretsOf(serializer: SerializerClass): readonly Secret[] {
  const { model, readable } = serializerPlan(serializer)
  if (!model || (serializer as Partial<typeof ModelSerializer>).fields !== '__all__') return []
  const declared = declaredFieldsOf(serializer)
  const { extraKwargs = {} } = serializer as Partial<typeof ModelSerializer>
  const known = told(model.model)
  const found: Secret[] = []
  for (const { name, column, relation, ids } of readable) {
    if (!column || relation || ids || declared.has(name) || Object.hasOwn(extraKwargs, name)) continue
    if (known.has(name) || !isSecretName({ name, type: column.type })) continue
    known.add(name)
    found.push({ name, model: modelName(model.model) })
  }
  return found
}

function warn(text: string): void {
  process.emitWarning(text, { code: 'KOA_VIEWSETS_SECRETS' })
}

const isFirst = firstTime()

/** Warns once for each model: what its `$formatJson` or `toJSON` leaves out or changes, a serializer shows as it is stored. */
export function warnOfFormat(serializer: SerializerClass): void {
  const { model } = serializerPlan(serializer)
  const method = model && jsonMethodOf(model.model)
  if (!model || method === undefined || !isFirst(model.model)) return
  const name = modelName(model.model)
  process.emitWarning(
    `${serializer.name}: ${name} has a ${method} of its own, which serializers do not ask; leave out of fields what it ` +
      'leaves out, and compute by a SerializerMethodField, or toRepresentation(), what it computes',
    { code: 'KOA_VIEWSETS_FORMAT_JSON' },
  )
}

const warned = oncePer<SerializerClass, Set<string>>(() => new Set())

/** Warns once for each field. */
export function warnOfNullSlugs(serializer: SerializerClass): void {
  const known = warned(serializer)
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
