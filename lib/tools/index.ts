/** Tools around an API: explanations of its routes, and what the catalogue says of models: `koa-viewsets/tools`. */
export type {
  ExplainedInsert,
  ExplainedPolicies,
  ExplainedReading,
  ExplainedStatement,
  ExplainedWrite,
  Explanation,
} from '../explain/explanation.js'
export { formatExplanations } from '../explain/format-explanation.js'
export { describeModel } from '../models/describe-model.js'
export { prepareRelatedModels as prepareModels } from '../models/foreign-key-models.js'
export type { ModelDescription } from '../models/model-description.js'
