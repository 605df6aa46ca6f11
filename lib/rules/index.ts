/** The door `koa-viewsets/rules`: who sees and writes which rows of a model, over all paths. */
export type { Condition, ConditionTree } from './conditions.js'
export { any, none, readable, sql } from './conditions.js'
export type { ModelRule, RuleCaller, RuleCondition, RuleOptions } from './rule.js'
export { rule } from './rule.js'
export type { Rules, RulesOptions } from './rule-set.js'
