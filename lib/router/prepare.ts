/** `prepare()`: of all views, and by the first request, where nobody has called it. */

import type { Knex } from 'knex'
import { answerError } from '../http/answer-error.js'
import type { Context } from '../http/context.js'
import { ConfigurationError, ServiceUnavailable } from '../kernel/errors.js'
import { isError } from '../kernel/realms.js'
import { preparesStatements, queriesPlainly, setting } from '../kernel/settings.js'
import { warnOnce } from '../kernel/warn-once.js'
import { type PreparedDatabase, prepareModels } from '../models/describe-model.js'
import { relateModels } from '../models/foreign-key-models.js'
import type { ModelClass } from '../models/objection.js'
import type { RuleSet } from '../rules/rule-set.js'
import { APIView } from '../views/api-view.js'
import { checkVersionSecret } from '../views/checks/check-concurrency.js'
import { modelsOf, modelsOfSerializers, serializersOfActions } from '../views/checks/models-of.js'
import { warnOfWholeTables, wholeTables } from '../views/checks/warn-of-whole-tables.js'
import { isGeneric } from '../views/generic-api-view.js'
import { hasModel } from '../views/generic-view-class.js'
import { checkPathCallers, prepareNested, prepareView } from './check-view.js'
import type { ParentRegistration, Registration, ViewSetClass } from './registration.js'

/** What is prepared. */
interface Prepared {
  prepare(): Promise<void>
}

/** False when that failed and was answered: the next request tries again. */
export async function prepareFor(router: Prepared, ctx: Context): Promise<boolean> {
  try {
    await router.prepare()
    return true
  } catch (error) {
    answerError(ctx, notPrepared(error))
    return false
  }
}

/** Koa's own log has the stack alone, so that the stack has the cause, too: a declaration may have to be mended. */
export function notPrepared(cause: unknown): ServiceUnavailable {
  const answer = new ServiceUnavailable(5, { cause })
  if (isError(cause)) answer.stack = `${answer.stack}\n[cause]: ${cause.stack}`
  return answer
}

/** What a router says of all its view sets. */
export interface PrepareOptions {
  /** Where to read the catalogue; each model's own knex when missing. */
  readonly knex: Knex | undefined
  readonly rules: RuleSet | undefined
  /** Related objects of a whole table that another view set narrows are a mistake. */
  readonly strict: boolean
}

/**
 * @param views the registered classes, and those that answer single actions
 * @returns the databases that were read
 * @throws {ConfigurationError} every mistake found, one a line
 */
export async function prepareViews(
  views: readonly ViewSetClass[],
  registrations: readonly Registration[],
  { knex, rules, strict }: PrepareOptions,
): Promise<readonly PreparedDatabase[]> {
  const own = views.filter(isGeneric).flatMap((view) => (hasModel(view) ? [view.modelClass()] : []))
  // first what view sets are of: relations that only the database says lead to these
  let models = modelsOfViews(views)
  if (await relateModels([...own, ...models, ...(rules?.reached ?? [])], knex)) models = modelsOfViews(views)
  const databases = await prepareModels(new Set([...models, ...(rules?.reached ?? [])]), knex)
  const mistakes = new Set<string>()
  const check = async (work: () => void | Promise<void>) => {
    try {
      await work()
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error
      mistakes.add(error.message)
    }
  }
  for (const view of views) await check(() => prepareView(view, knex))
  await check(() => rules?.check(models))
  for (const view of views.filter(isGeneric)) await check(() => checkVersionSecret(view, rules))
  await check(() => void [preparesStatements(), queriesPlainly()])
  // asked for by errors only, which a wrong value must not stop
  for (const name of ['errorCodes', 'problemDetails'] as const) await check(() => void setting(name))
  for (const { view, parent } of registrations) {
    if (parent) await check(() => prepareNested(view, parent.registration.view))
    await check(() => checkPathCallers(view, viewsAbove(parent)))
  }
  // of what is wrong otherwise nobody knows what it reaches
  if (mistakes.size === 0) {
    await check(async () => {
      const problems = await wholeTables(views.filter(isGeneric), rules)
      if (strict && problems.length > 0) throw new ConfigurationError(problems.join('\n'))
      warnOfWholeTables(problems, registrations)
    })
  }
  if (mistakes.size > 0) throw new ConfigurationError([...mistakes].join('\n'))
  warnOfShortNames()
  return databases
}

/** The view sets whose objects stand before those of a view set on its path, the nearest first. */
function viewsAbove(parent: ParentRegistration | undefined): readonly ViewSetClass[] {
  return parent ? [parent.registration.view, ...viewsAbove(parent.registration.parent)] : []
}

/** A bundler that has renamed our classes has renamed those of the application, too, and calls them otherwise the next time. */
function warnOfShortNames(): void {
  if (APIView.name === 'APIView') return
  warnOnce(
    'KOA_VIEWSETS_SHORT_NAMES',
    `A bundler has shortened the names of classes: APIView is called ${JSON.stringify(APIView.name)}. By them go counts of throttles, kept answers of idempotency keys, ids of each user and the OpenAPI document, so that each build has others: keep them, by --keep-names of esbuild or keep_classnames of terser.`,
  )
}

function modelsOfViews(views: readonly ViewSetClass[]): ReadonlySet<ModelClass> {
  return new Set(
    views.flatMap((view) => (isGeneric(view) ? modelsOf(view) : [...modelsOfSerializers(serializersOfActions(view))])),
  )
}
