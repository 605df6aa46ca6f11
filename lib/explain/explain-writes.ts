/** The roads of requests that write: how rows are inserted, held, changed and deleted. */

import type { Model } from 'objection'
import { reasonOf } from '../kernel/reasons.js'
import { describeModel } from '../models/describe-model.js'
import { traitsOf } from '../models/model-traits.js'
import { modelName } from '../models/objection.js'
import type { Recording } from '../postgres/recording-knex.js'
import type { KeyedCondition } from '../queryset/condition-key.js'
import { deleteOne, updateOne } from '../queryset/one-row.js'
import { askOnChange } from '../queryset/row-answers.js'
import { insertMany, insertOne } from '../rows/inserter.js'
import { deleteRow } from '../rows/row-delete.js'
import { updateRow } from '../rows/row-update.js'
import { askedOfChange } from '../serializers/check-written.js'
import { serializerPlan } from '../serializers/plan.js'
import type { Way } from '../views/action-plan.js'
import { type Action, actionNamed, takesMany, takesPart } from '../views/actions.js'
import { isBuiltIn, overridden } from '../views/built-in.js'
import { declaredInput } from '../views/input-class.js'
import type { RowAnswer, WritingAction } from '../views/overrides.js'
import { inViewTransaction } from '../views/request/in-view-transaction.js'
import { recordedBeside } from '../views/request/log-writes.js'
import { forcedValues } from '../views/request/parents.js'
import { concurrencyOf, resourceOf } from '../views/resource.js'
import { readSavedRows, savedRows } from '../views/steps/answer-saved.js'
import { deleteObjects } from '../views/steps/delete-objects.js'
import { conditionOf, holdRows, toTell } from '../views/steps/hold-rows.js'
import { insertedRows } from '../views/steps/insert-row.js'
import { openRows } from '../views/steps/open-rows.js'
import { type WritableRows, writableRows } from '../views/steps/write-by-statement.js'
import { writeConditions } from '../views/steps/write-conditions.js'
import type { ExplainedInsert, Explanation } from './explanation.js'
import { because, CHOOSING_OBJECTS, NOTHING, type Road, RoadBook } from './road-book.js'
import { isDecided, isDecidedOutside } from './subject.js'

function wayOf<Name extends string>({ way, because }: Way<Name>): { readonly by: Name; readonly because?: string } {
  return because === null ? { by: way } : { by: way, because }
}

/** What the statement that writes a row tells of it. */
interface Told {
  readonly version: boolean
  readonly queryset: boolean
}

const UNTOLD: Told = { version: false, queryset: false }

/** Notes how a request writes, and the statements of each step. */
export class WritingRoad extends RoadBook {
  async insert({ name, hooks }: Action): Promise<Road> {
    const view = this.view
    const asked = isDecided(this.subject, ...CHOOSING_OBJECTS, 'getInputSerializer')
    const method = overridden(view, name, ...hooks.filter((hook) => hook in view))
    if (asked || method !== undefined) {
      this.overridden(...(method === undefined ? [] : [method]))
      const insert = { by: 'serializer', because: `${view.viewClass.name} overrides ${method}()` } as const
      const again = this.#isOurs(name) ? this.#readsAgain(name) : {}
      const transaction = this.#isOurs(name) ? view.plan.writesTogether : view.atomic
      return { ...NOTHING, insert: method === undefined ? null : insert, ...again, transaction }
    }
    const isBulk = name === 'bulkCreate'
    const access = insertedRows(view, { tell: this.tell })
    const wanted = writeConditions(view, 'create')
    const { isLeft } = wanted
    const again = this.#readsAgain(name, access && !isBulk ? { version: true, queryset: !isLeft.queryset } : UNTOLD)
    const transaction = access ? isLeft.write || isLeft.queryset : view.plan.writesTogether
    const columns = this.#writtenColumns()
    const values = new Map(columns.map((column) => [column, null]))
    if (access || traitsOf(view.viewClass.modelClass()).plainInserts) {
      this.subject.notes.push('the INSERT is that of a body with every field')
      await this.step('insert', async () => {
        if (!access) this.#write('insert', (run, table) => run(table).insert(Object.fromEntries(values)).returning('*'))
        else if (isBulk) await insertMany(access, [values])
        else await insertOne(access, resourceOf(view.viewClass).lookup, { values, asked: wanted })
      })
    } else this.#noteHooks('INSERT')
    if (!access) await this.#readSaved(isBulk)
    const insert: ExplainedInsert = access ? { by: 'statement' } : { by: 'serializer', ...because(this.because) }
    return { ...NOTHING, insert, ...again, statements: this.statements, transaction }
  }

  #isOurs(action: string): boolean {
    return isBuiltIn(this.view.viewClass.prototype, action)
  }

  async change({ name, runs = name, writes, hooks }: Action): Promise<Road> {
    const view = this.view
    const transaction = true
    const finding = ['getObject', 'getObjectToWrite']
    const asked = isDecided(this.subject, ...CHOOSING_OBJECTS, ...finding) || isDecidedOutside(this.subject)
    const own = this.overridden(name, runs)
    if (own) return { ...NOTHING, transaction: view.atomic }
    if (name === 'update' && takesPart(view.plan))
      this.subject.notes.push('fields that the body leaves out stay as they are (partialPut)')
    const isChange = writes === 'update' && name !== 'restoreDeleted'
    const rows = view.plan.writing.way === 'statement' && !asked ? writableRows(view) : undefined
    if (rows) await this.#writeByStatement(writes === 'delete', rows)
    let condition: KeyedCondition | undefined
    if (!asked && !takesMany(name)) {
      await this.step('hold', async () => {
        condition = conditionOf(view)
      })
    }
    const ways = this.#ways(writes === 'delete', condition)
    if (asked) return { ...NOTHING, ...ways, transaction }
    const { terms, condition: kept } = toTell(view, condition)
    const told = { version: terms.length > 0, queryset: kept !== undefined }
    const again = { ...ways, ...(isChange ? this.#readsAgain(name, told) : {}) }
    if (takesMany(name)) {
      await this.#changeMany(writes === 'delete', !this.overridden(...hooks.filter((hook) => hook in view)))
      return { ...NOTHING, ...again, statements: this.statements, transaction }
    }
    if (name === 'restoreDeleted' || name === 'purgeDeleted') view.deletedRows = 'deleted'
    const marks = name === 'restoreDeleted' || (name === 'destroy' && view.resource.deletion !== undefined)
    await this.step('hold', async () => {
      await inViewTransaction(view, this.recording.knex, () => view.getObjectToWrite())
    })
    if (view.plan.writing.before.way === 'loaded') await this.#loadRelated()
    const written = this.overridden(...hooks.filter((hook) => hook in view))
    if (!written && marks) this.#setMark(name)
    else if (!written)
      await this.step(writes === 'delete' ? 'delete' : 'update', () => this.#changeRow(writes === 'delete', condition))
    if (writes !== 'delete' && written) this.noteRelations()
    else if (writes !== 'delete') await this.#readSaved(false)
    return { ...NOTHING, ...again, statements: this.statements, transaction: rows === undefined }
  }

  /** A list of objects, which are two here: held together, and changed or deleted. */
  async #changeMany(isDeletion: boolean, isOurs: boolean): Promise<void> {
    const view = this.view
    const { lookup } = view.resource
    const { changing, before, holding } = view.plan.writing
    const keys = [0, 1].map((key) => lookup.columns.map(() => key))
    if (holding.way !== 'none') await this.step('hold', () => holdRows(view, { key: lookup, keys }))
    if (before.way === 'loaded') await this.#loadRelated()
    if (!isOurs) return
    if (isDeletion) {
      await this.step('delete', () => deleteObjects(view, [this.#keyedObject(), this.#keyedObject()]))
      return
    }
    this.subject.notes.push(
      changing.way === 'statement'
        ? 'one UPDATE for all objects that change'
        : 'one UPDATE for each object that changes',
    )
    await this.#readSaved(true)
  }

  /** The one statement that changes or deletes an object; what follows it is for requests that it is not for. */
  async #writeByStatement(isDeletion: boolean, { where, condition }: WritableRows): Promise<void> {
    const view = this.view
    const { knex } = this.recording
    const { lookup, model } = view.resource
    const named = new Map(lookup.columns.map(({ column }) => [column, 0]))
    if (isDeletion) {
      const beside = recordedBeside(view, 'delete')
      await this.step('delete', () => deleteRow(model.model, { named, where, beside }, knex))
      this.subject.notes.push('a condition (If-Match), or no such row: the row is held first')
    } else {
      const access = openRows(view, view.action as RowAnswer)
      const values = new Map(this.#writtenColumns().map((column) => [column, null]))
      const asked = writeConditions(view, 'update', condition)
      if (access) await this.step('update', () => updateRow(access, { values, named, where, asked }))
      this.subject.notes.push(
        'a condition (If-Match), a form, a patch document, a value that is refused or respelled, or no such row: the row is held first',
      )
    }
    this.otherwise = 'else '
  }

  /** How the object on the path is written, and how rows are held, changed and deleted. */
  #ways(
    isDeletion: boolean,
    condition: KeyedCondition | undefined,
  ): Pick<Explanation, 'write' | 'hold' | 'change' | 'delete' | 'loads'> {
    const { plan, resource } = this.view
    const { writing } = plan
    const { holding, changing, deleting, before } = writing
    const { way, because } = holding
    const isOwn = resource.ownHook(plan.action) !== null
    const held = condition ? { way: 'statement' as const, because: null } : { way: 'queryset' as const, because }
    const all = { way: 'queryset' as const, because: because ?? 'rows are locked in the order of their keys' }
    const isMany = takesMany(plan.action)
    return {
      ...(isMany ? {} : { write: wayOf(writing) }),
      hold: wayOf(isMany && way !== 'none' ? all : way === 'condition' ? held : { way, because }),
      ...(isOwn || isDeletion ? {} : { change: wayOf(changing) }),
      ...(isOwn || !isDeletion ? {} : { delete: wayOf(deleting) }),
      ...(before.because === null ? {} : { loads: before.because }),
    }
  }

  /** What is related to an object before it is written: one statement for each relation of its own. */
  async #loadRelated(): Promise<void> {
    const { viewClass, resource } = this.view
    const { serializerClass } = viewClass
    if (!serializerClass || this.overridden('getObject', 'getObjectToWrite', 'loadRelated')) return
    const object = this.#keyedObject() as Model & Record<string, unknown>
    for (const name of Object.keys(serializerPlan(serializerClass).relations))
      for (const property of resource.model.relations.get(name)?.ownerProperties ?? []) object[property] = 0
    await this.step('related', () => this.view.loadRelated([object]))
  }

  /** How what was written is read for the answer. */
  async #readSaved(isList: boolean): Promise<void> {
    const saved = savedRows(this.view)
    const object = this.#keyedObject()
    if (saved) await this.step('object', () => readSavedRows(this.view, saved, isList ? [object] : object))
    else this.noteRelations()
  }

  /** Whether objects are read again once they are written, and what the statement that writes them tells of them. */
  #readsAgain(name: string, told: Told = UNTOLD): Pick<Explanation, 'readsAgain' | 'version' | 'returns'> {
    const { plan, resource, viewClass } = this.view
    const { concurrency } = viewClass
    const serializerClass = declaredInput(viewClass)
    if (!serializerClass) return {}
    const action = (actionNamed(name)?.runs ?? name) as WritingAction
    const { keepsQueryset } = plan
    const kept = keepsQueryset && !told.queryset ? 'what is written must be in the queryset (mayLeaveQueryset)' : null
    const readsAgain = reasonOf([resource.stored(action, serializerClass).because, kept])
    const version = concurrency === null || takesMany(name) ? undefined : concurrencyOf(viewClass).join(', ')
    const returned = [
      ...(version !== undefined && told.version ? [`its version (${version})`] : []),
      ...(keepsQueryset && told.queryset ? ['that it is in the queryset (mayLeaveQueryset)'] : []),
    ]
    return {
      ...(readsAgain === null ? {} : { readsAgain }),
      ...(version === undefined || told.version ? {} : { version }),
      ...(returned.length === 0 ? {} : { returns: returned.join(', ') }),
    }
  }

  /** An object that has a key, and nothing else. */
  #keyedObject(): Model {
    const model = this.view.viewClass.modelClass()
    const { columns } = this.view.resource.lookup
    const names = [...describeModel(model).primaryKey, ...columns.map(({ property }) => property)]
    return Object.assign(new model(), Object.fromEntries(names.map((name) => [name, 0])))
  }

  async #changeRow(isDeletion: boolean, condition: KeyedCondition | undefined): Promise<void> {
    const { knex } = this.recording
    const model = this.view.viewClass.modelClass()
    const { columns, primaryKey } = describeModel(model)
    const object = this.#keyedObject()
    const values = new Map(this.#writtenColumns().map((column) => [column, null]))
    const { changing, deleting } = this.view.plan.writing
    if ((isDeletion ? deleting : changing).way === 'statement') {
      if (!isDeletion) this.subject.notes.push('the UPDATE is that of a body with every field')
      askOnChange(object, toTell(this.view, condition))
      const asked = askedOfChange({ view: this.view }, describeModel(model), [])
      await (isDeletion ? deleteOne(object, knex) : updateOne(object, new model(), { values, asked, knex }))
      return
    }
    if (!isDeletion) {
      this.#noteHooks('UPDATE')
      return
    }
    const where = primaryKey.map((key) => [`${model.tableName}.${columns.get(key)?.column}`, 0] as const)
    this.#write('delete', (run, table) => run(table).where(Object.fromEntries(where)).delete())
  }

  /** The statement of a soft delete, or of what takes it back. */
  #setMark(name: string): void {
    const { knex } = this.recording
    const { columns, primaryKey } = describeModel(this.view.viewClass.modelClass())
    const mark = this.view.resource.deletion?.column.column as string
    const key = Object.fromEntries(primaryKey.map((property) => [columns.get(property)?.column ?? property, 0]))
    if (name === 'restoreDeleted')
      this.#write('update', (run, table) =>
        run(table)
          .where(key)
          .whereNotNull(mark)
          .update({ [mark]: null }),
      )
    else
      this.#write('delete', (run, table) =>
        run(table)
          .where(key)
          .whereNull(mark)
          .update({ [mark]: knex.raw('now()') }),
      )
  }

  #noteHooks(statement: string): void {
    const model = modelName(this.view.viewClass.modelClass())
    this.subject.notes.push(`the ${statement} is Objection's: ${model} has hooks or methods of its own`)
  }

  /** A statement that Objection makes of a query of this kind. */
  #write(
    does: string,
    build: (knex: Recording['knex'], table: string) => { toSQL(): { toNative(): { sql: string } } },
  ): void {
    const { tableName } = this.view.viewClass.modelClass()
    this.statements.push({
      does: this.otherwise + does,
      sql: build(this.recording.knex, tableName).toSQL().toNative().sql,
    })
  }

  /** The columns that a body with every field writes. */
  #writtenColumns(): readonly string[] {
    const serializerClass = declaredInput(this.view.viewClass)
    const { columns } = describeModel(this.view.viewClass.modelClass())
    const written = serializerClass ? serializerPlan(serializerClass).writable : []
    const properties = written.flatMap(({ column, relation, input }) => {
      if (column) return [column.property]
      return relation?.kind === 'belongs-to-one' && input !== 'objects' ? relation.ownerProperties : []
    })
    const forced =
      this.view.action === 'create' || this.view.action === 'bulkCreate' ? forcedValues(this.view) : undefined
    const all = new Set([...properties, ...(forced?.keys() ?? [])])
    return [...all].flatMap((property) => columns.get(property)?.column ?? [])
  }
}
