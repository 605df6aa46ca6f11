/** Warns of columns of related objects that look like secrets and that nobody has asked for by name (promise A10). */
import { type ModelClass, modelName } from '../models/objection.js'
import { snakeCase } from '../naming.js'
import type { SerializerClass } from './contract.js'
import { declaredFieldsOf } from './declared-fields.js'
import type { ModelSerializer } from './model-serializer.js'
import { serializerPlan } from './plan.js'

const SECRETS = new Set(['password', 'passwd', 'secret', 'token', 'hash'])

const warned = new WeakMap<ModelClass, Set<string>>()

/** Looks at what `nested` shows inside `serializer` of all columns of its model; warns once for each column. */
export function warnOfSecrets(serializer: SerializerClass, nested: SerializerClass): void {
  const { model, readable } = serializerPlan(nested)
  if (!model || (nested as unknown as Partial<typeof ModelSerializer>).fields !== '__all__') return
  const declared = declaredFieldsOf(nested)
  const known = warned.get(model.model) ?? new Set()
  warned.set(model.model, known)
  for (const { name, column, relation, ids } of readable) {
    if (!column || relation || ids || declared.has(name) || known.has(name) || !isSecret(name)) continue
    known.add(name)
    process.emitWarning(
      `${serializer.name}: shows "${name}" of ${modelName(model.model)} with its objects, though nothing names it (depth, or ` +
        `fields = '__all__' of ${nested.name}); mark it writeOnly in the jsonSchema of ${modelName(model.model)}, or nest a ` +
        'serializer whose fields name what to show',
      { code: 'KOA_VIEWSETS_SECRETS' },
    )
  }
}

/** True for `password_hash` and `apiToken`, not for `hashtag`. */
function isSecret(name: string): boolean {
  return snakeCase(name)
    .split('_')
    .some((word) => SECRETS.has(word))
}
