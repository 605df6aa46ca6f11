/** Warns of columns of related objects that look like secrets and that nobody has asked for by name (promise A10). */
import type { ModelClass } from '../models/objection.js'
import { snakeCase } from '../naming.js'
import type { SerializerClass } from './contract.js'
import type { ModelSerializer } from './model-serializer.js'
import { declaredFieldsOf, serializerPlan } from './plan.js'

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
      `${serializer.name}: shows "${name}" of ${model.model.name} with its objects, though nothing names it (depth, or ` +
        `fields = '__all__' of ${nested.name}); mark it writeOnly in the jsonSchema of ${model.model.name}, or nest a ` +
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
