/** Warns of models that become JSON in their own way, which serializers do not ask. */
import { firstTime } from '../kernel/once-per.js'
import { modelName } from '../models/objection.js'
import { formatsJson } from '../models/visibility.js'
import type { SerializerClass } from './contract.js'
import { serializerPlan } from './plan.js'

const isFirst = firstTime()

/** Warns once for each model: what its `$formatJson` leaves out or changes, a serializer shows as it is stored. */
export function warnOfFormat(serializer: SerializerClass): void {
  const { model } = serializerPlan(serializer)
  if (!model || !formatsJson(model.model) || !isFirst(model.model)) return
  const name = modelName(model.model)
  process.emitWarning(
    `${serializer.name}: ${name} has a $formatJson of its own, which serializers do not ask; leave out of fields what it ` +
      'leaves out, and compute by a SerializerMethodField, or toRepresentation(), what it computes',
    { code: 'KOA_VIEWSETS_FORMAT_JSON' },
  )
}
