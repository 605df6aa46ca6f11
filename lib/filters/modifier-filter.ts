/** Narrows a list by named modifiers of its model that a client may ask for: `?open=true`. */

import { ConfigurationError, ValidationError } from '../kernel/errors.js'
import { type ModelClass, modelName } from '../models/objection.js'
import { areOfOneTable } from '../models/one-table.js'
import { encloseAdded } from '../queryset/group-conditions.js'
import { choosesRows, modifierProblem, ordersRows } from '../queryset/reads-whole-rows.js'
import {
  BaseFilter,
  type FilterCondition,
  type FilterSettings,
  lastValueOf,
  type ParameterDescription,
  type QueryParameters,
} from './filter.js'

/** A model class, as far as its modifiers are named. */
type Modified = ModelClass & { readonly modifiers: object }

/** The names of a model's modifiers; any name where the model says nothing of them. */
type ModifierOf<M extends Modified> = string extends keyof M['modifiers'] ? string : keyof M['modifiers'] & string

/**
 * Makes named modifiers of the model (`static modifiers`) parameters of its lists. Each is asked for by its own name and the
 * value `true`; without it the list is what it is. Modifiers that are not named here cannot be asked for. Several narrow
 * the list together, and an OR in one of them reaches no other condition.
 * @throws {ConfigurationError} a name is no modifier of the model
 * @example static override filterBackends = [FieldFilter, new ModifierFilter(Task, ['open', 'overdue'])]
 */
export class ModifierFilter<
  M extends Modified = Modified,
  Name extends ModifierOf<M> = ModifierOf<M>,
> extends BaseFilter {
  declare readonly asks?: { readonly [Asked in Name]?: true }
  readonly #model: ModelClass
  readonly #names: readonly string[]

  constructor(model: M, names: readonly Name[]) {
    super()
    for (const name of names) {
      const problem = modifierProblem(model, name)
      if (problem !== undefined) throw new ConfigurationError(`ModifierFilter: "${name}" ${problem}`)
    }
    this.#model = model
    this.#names = [...new Set(names)]
  }

  override read(query: QueryParameters): FilterCondition | null {
    const asked: string[] = []
    const errors: Record<string, string[]> = {}
    for (const name of this.#names) {
      const text = lastValueOf(query, name)
      if (text === 'true') asked.push(name)
      else if (text !== undefined) errors[name] = ['Use true, or leave it out.']
    }
    if (Object.keys(errors).length > 0) throw new ValidationError(errors)
    if (asked.length === 0) return null
    return {
      change(builder) {
        for (const name of asked) encloseAdded(builder, () => builder.modify(name))
      },
    }
  }

  override parameters(): readonly ParameterDescription[] {
    return this.#names.map((name) => ({
      name,
      description: `Only objects that the modifier "${name}" of ${modelName(this.#model)} chooses.`,
      schema: { type: 'boolean', enum: [true] },
    }))
  }

  override check(settings: FilterSettings): void {
    const own = settings.model.model
    const fail = (problem: string) => new ConfigurationError(`${settings.name}: ModifierFilter: ${problem}`)
    if (!areOfOneTable(own, this.#model)) {
      throw fail(
        `its model is ${modelName(this.#model)}, and the view's is ${modelName(own)}; name modifiers of the latter`,
      )
    }
    const others = settings.backends.filter((backend) => backend !== this)
    const taken = new Set(others.flatMap((backend) => backend.parameters(settings).map(({ name }) => name)))
    for (const name of this.#names) {
      if (taken.has(name)) throw fail(`"${name}" is a parameter of another filter backend, too; rename the modifier`)
      if (choosesRows(own, name) && !ordersRows(own, name)) continue
      throw fail(
        `the modifier "${name}" does more than to choose rows, or needs a request when it is called; ` +
          'leave order, columns and groups to the view',
      )
    }
  }
}
