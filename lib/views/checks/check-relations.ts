/** What can be wrong with the relations that filters may ask about (promise I23). */

import { FieldFilter } from '../../filters/field-filter.js'
import type { DatabaseOptions } from '../../http/database-role.js'
import { ConfigurationError } from '../../kernel/errors.js'
import { didYouMean } from '../../kernel/near-miss.js'
import { traitsOf } from '../../models/model-traits.js'
import { type ModelClass, modelName } from '../../models/objection.js'
import { areOfOneTable } from '../../models/one-table.js'
import { isRelatedCount } from '../../serializers/count-field.js'
import { actionClass } from '../action-options.js'
import type { GenericViewClass, RelatedViewClass } from '../generic-view-class.js'
import { namedClass, reachedViewSets } from '../related-view-set.js'
import { resourceOf } from '../resource.js'
import { checkCallers } from './check-callers.js'
import { checkOwnQueryset } from './check-queryset.js'

/**
 * Checks what a view declares of its relations, and of the view sets that show them what decides which rows there are.
 * @throws {ConfigurationError} naming class, relation and fix
 */
export function checkRelations(view: GenericViewClass): void {
  const names = Object.keys(view.filterRelations)
  if (names.length > 0) checkAsked(view, names)
  for (const attribute of ['filterRelations', 'related'] as const) {
    for (const name of Object.keys(view[attribute])) checkNamed(view, attribute, name)
  }
  // what is named by others is asked in the same request
  for (const related of reachedViewSets(view)) {
    const where = `${view.name}: its related objects are those of ${related.name}`
    checkDatabase(where, view, related)
    checkCallers(where, view, actionClass(related, 'list'))
  }
}

/** @throws {ConfigurationError} nobody asks about the relations of filters */
function checkAsked(view: GenericViewClass, names: readonly string[]): void {
  const { filters } = resourceOf(view)
  const counts = Object.values(view.expandable).some(isRelatedCount)
  if (!(counts || filters.some((filter) => filter instanceof FieldFilter && filter.groupParam !== null))) {
    throw new ConfigurationError(
      `${view.name}: static filterRelations is asked by groups of filters and by counts; set filterBackends = [new FieldFilter({ groupParam: 'filter' })], or expandable = { ${names[0]}_count: count('${names[0]}') }`,
    )
  }
}

function checkNamed(view: GenericViewClass, attribute: 'filterRelations' | 'related', name: string): void {
  const where = `${view.name}: ${attribute}["${name}"]`
  const { model } = resourceOf(view)
  const relation = model.relations.get(name)
  if (!relation) {
    const fix = didYouMean(name, model.relations.keys())
    throw new ConfigurationError(`${where} is no relation of ${modelName(model.model)}${fix}`)
  }
  const related = namedClass(view[attribute][name])
  if (!related) {
    throw new ConfigurationError(
      `${where} is no view set; name the one that shows the related objects, or a function that returns it`,
    )
  }
  checkRelated(where, related, relation.model)
}

/** The statement is the asking view's: under another role, other rows would be there. @throws {ConfigurationError} */
function checkDatabase(where: string, view: GenericViewClass, related: RelatedViewClass): void {
  const own = view as GenericViewClass & DatabaseOptions & Choosing
  const other = related as RelatedViewClass & Choosing
  const differs = (['databaseRole', 'databaseSettings'] as const).find((name) => own[name] !== other[name])
  const differing = own.prototype.getKnex === other.prototype.getKnex ? differs : 'getKnex()'
  if (differing === undefined) return
  throw new ConfigurationError(
    `${where}: ${related.name} has another ${differing} than ${view.name}, whose statement reads both; give both the same, from one base class`,
  )
}

/** A class that may say on which connection statements run. */
interface Choosing {
  readonly prototype: { readonly getKnex?: unknown }
}

function checkRelated(where: string, view: RelatedViewClass, model: ModelClass): void {
  const own = view.modelClass()
  if (!areOfOneTable(own, model)) {
    throw new ConfigurationError(
      `${where} is ${view.name}, a view set of ${modelName(own)}; name one of ${modelName(model)}`,
    )
  }
  if ((view.parentLookupField ?? '') !== '') {
    throw new ConfigurationError(
      `${where} is ${view.name}, which shows objects of the one before them on the path only; name a view set that is not nested`,
    )
  }
  const { overrides, filterSettings } = resourceOf(view)
  const listed = overrides.first(['list', 'getList'])
  if (listed !== undefined) {
    throw new ConfigurationError(
      `${where} is ${view.name}, ${listed in view.prototype ? `whose own ${listed}() may leave out objects` : `which has no ${listed}()`}: which objects there are is said by a list that comes with the package; narrow getQueryset()`,
    )
  }
  if (!traitsOf(own).plainFinds) {
    throw new ConfigurationError(
      `${where}: ${modelName(own)} has hooks (beforeFind, afterFind) that may leave out objects, which filters cannot ask; narrow by conditions of getQueryset()`,
    )
  }
  checkOwnQueryset(view)
  for (const backend of filterSettings.backends) if (backend instanceof FieldFilter) backend.check(filterSettings)
}
