/** The door `koa-viewsets/rules`: who sees and writes which rows of a model, and which of their fields, over all paths. */

export type { Mask } from '../queryset/visible-fields.js'
export type { Condition, ConditionTree } from './conditions.js'
export { any, none, readable, sql } from './conditions.js'
export type { FieldRule, ModelRule, RuleCaller, RuleCondition, RuleOptions } from './rule.js'
export { rule } from './rule.js'
export type { Rules, RulesOptions } from './rule-set.js'
