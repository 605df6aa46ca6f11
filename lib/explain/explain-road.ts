/** The way of a request through a generic view: how it reads, how it inserts, and the statements of each step. */

import type { Model } from 'objection'
import { isDescribed } from '../filters/filter.js'
import { queryOf } from '../http/context.js'
import { publicUrl } from '../http/public-url.js'
import { ApiError, ConfigurationError, NotFound } from '../kernel/errors.js'
import { describeModel } from '../models/describe-model.js'
import { traitsOf } from '../models/model-traits.js'
import { modelName } from '../models/objection.js'
import { CursorPagination } from '../pagination/cursor-pagination.js'
import { LimitOffsetPagination } from '../pagination/limit-offset-pagination.js'
import type { ListSource } from '../pagination/list-source.js'
import { PageNumberPagination } from '../pagination/page-number-pagination.js'
import type { BasePagination } from '../pagination/pagination.js'
import { type Recording, recordStatements } from '../postgres/recording-knex.js'
import type { KeyedCondition } from '../queryset/condition-key.js'
import { deleteNamed, deleteOne, updateOne } from '../queryset/one-row.js'
import { askOnChange } from '../queryset/row-answers.js'
import { InstanceList } from '../rows/instance-list.js'
import type { RowAccess } from '../rows/row-access.js'
import { RowList } from '../rows/row-list.js'
import { updateRow } from '../rows/row-update.js'
import { askedOfChange } from '../serializers/check-written.js'
import { serializerPlan } from '../serializers/plan.js'
import type { Way } from '../views/action-plan.js'
import { type Action, actionNamed, takesMany } from '../views/actions.js'
import { isBuiltIn, overridden } from '../views/built-in.js'
import type { GenericAPIView } from '../views/generic-api-view.js'
import { declaredInput } from '../views/input-class.js'
import type { RowAnswer, WritingAction } from '../views/overrides.js'
import { askRelations } from '../views/request/ask-relations.js'
import { inViewTransaction } from '../views/request/in-view-transaction.js'
import { forcedValues } from '../views/request/parents.js'
import { resourceOf } from '../views/resource.js'
import { readSavedRows, savedRows } from '../views/steps/answer-saved.js'
import { deleteObjects } from '../views/steps/bulk-objects.js'
import { conditionOf, holdRows, toTell } from '../views/steps/hold-rows.js'
import { findInserter } from '../views/steps/insert-row.js'
import { openRows } from '../views/steps/open-rows.js'
import { describeFigures } from '../views/steps/read-aggregates.js'
import { explainedList } from '../views/steps/read-list.js'
import { type WritableRows, writableRows } from '../views/steps/write-by-statement.js'
import { writeConditions } from '../views/steps/write-conditions.js'
import { takesPart } from '../views/takes-part.js'
import type { ExplainedInsert, ExplainedReading, ExplainedStatement, Explanation } from './explanation.js'
import { isDecided, isDecidedOutside, knexOf, type Subject } from './subject.js'

type Road = Pick<Explanation, 'reading' | 'insert' | 'statements'> &
  Partial<
    Pick<
      Explanation,
      'transaction' | 'readsAgain' | 'version' | 'returns' | 'write' | 'hold' | 'change' | 'delete' | 'loads'
    >
  >

function wayOf<Name extends string>({ way, because }: Way<Name>): { readonly by: Name; readonly because?: string } {
  return because === null ? { by: way } : { by: way, because }
}

const NOTHING: Road = { reading: null, insert: null, statements: [] }

/** What the statement that writes a row tells of it. */
interface Told {
  readonly version: boolean
  readonly queryset: boolean
}

const UNTOLD: Told = { version: false, queryset: false }

/** What chooses the objects of any action. */
const CHOOSING = ['getQueryset', 'getSerializerClass']
const OURS: readonly (new () => BasePagination)[] = [PageNumberPagination, LimitOffsetPagination, CursorPagination]

export async function explainRoad(subject: Subject<GenericAPIView>): Promise<Road> {
  const { view } = subject
  const action = actionNamed(view.action)
  if (!action || (view.viewClass.model === null && view.viewClass.queryset === null)) return NOTHING
  const knex = await knexOf(subject)
  if (!knex) return NOTHING
  const recording = recordStatements(knex)
  view.knex = recording.knex
  const road = new RoadBook(subject, recording)
  if (action.shows === 'figures') return road.figures(action.name)
  if (action.writes === undefined) return action.shows === 'list' ? road.list() : road.object()
  return action.writes === 'insert' ? road.insert(action) : road.change(action)
}

/** Notes what each step does. */
class RoadBook {
  readonly #subject: Subject<GenericAPIView>
  readonly #view: GenericAPIView
  readonly #recording: Recording
  readonly #statements: ExplainedStatement[] = []
  #because: string | undefined
  /** Before the statements that are sent only where the first is not enough. */
  #otherwise = ''

  constructor(subject: Subject<GenericAPIView>, recording: Recording) {
    this.#subject = subject
    this.#view = subject.view
    this.#recording = recording
  }

  async list(): Promise<Road> {
    const view = this.#view
    const { paginator, filters } = resourceOf(view.viewClass)
    const own = this.#overridden('list', 'getList')
    const asks = isDecided(this.#subject, ...CHOOSING, 'filterQueryset') || isDecidedOutside(this.#subject)
    const asked =
      asks ||
      this.#isDecidedBy(
        filters.find((one) => !isDescribed(one)),
        'filterQueryset',
      )
    if (own || asked) return { ...NOTHING, reading: this.#reading(this.#rowsOf('list')) }
    let list: ListSource | undefined
    const isOurs = !paginator || OURS.some(({ prototype }) => paginator.paginate === prototype.paginate)
    await this.#step('list', async () => {
      if (view.resource.asksRelations) await askRelations(view)
      list = explainedList(view, this.#tell)
      if (paginator?.keepsConnections) {
        const cursor = await list.open({ name: 'explained', idleMilliseconds: 1_000 })
        await cursor.close()
      } else if (!paginator) await list.read({ limit: Number.POSITIVE_INFINITY })
      else if (isOurs || !this.#isDecidedBy(paginator, 'paginate')) await this.#page(paginator, list)
    })
    const reading = list ? readingOf(list, this.#because) : null
    if (reading?.from === 'instances') this.#noteRelations()
    return { ...NOTHING, reading, statements: this.#statements }
  }

  async figures(action: string): Promise<Road> {
    const asked = isDecided(this.#subject, ...CHOOSING, 'filterQueryset') || isDecidedOutside(this.#subject)
    if (this.#overridden(action) || asked) return NOTHING
    await this.#step(action, () => describeFigures(this.#view, this.#subject.isAsked))
    return { ...NOTHING, statements: this.#statements }
  }

  async object(): Promise<Road> {
    const view = this.#view
    const asked = isDecided(this.#subject, ...CHOOSING, 'getObject') || isDecidedOutside(this.#subject)
    if (this.#overridden('retrieve', 'getDetail') || asked) {
      return { ...NOTHING, reading: this.#reading(this.#rowsOf('retrieve')) }
    }
    let rows: RowAccess | undefined
    await this.#step('object', async () => {
      rows = openRows(view, 'retrieve', { tell: this.#tell })
      await view.getDetail()
    })
    const reading = this.#reading(rows)
    if (reading.from === 'instances') this.#noteRelations()
    return { ...NOTHING, reading, statements: this.#statements }
  }

  async insert({ name, hooks }: Action): Promise<Road> {
    const view = this.#view
    const asked = isDecided(this.#subject, ...CHOOSING, 'getInputSerializer')
    const method = overridden(view, name, ...hooks.filter((hook) => hook in view))
    if (asked || method !== undefined) {
      this.#overridden(...(method === undefined ? [] : [method]))
      const insert = { by: 'serializer', because: `${view.viewClass.name} overrides ${method}()` } as const
      const again = isBuiltIn(view.viewClass.prototype, name) ? this.#readsAgain(name) : {}
      return { ...NOTHING, insert: method === undefined ? null : insert, ...again, transaction: view.viewClass.atomic }
    }
    const isBulk = name === 'bulkCreate'
    const inserter = findInserter(view, { tell: this.#tell })
    const wanted = writeConditions(view, 'create')
    const { isLeft } = wanted
    const again = this.#readsAgain(name, inserter && !isBulk ? { version: true, queryset: !isLeft.queryset } : UNTOLD)
    const transaction = inserter ? isLeft.write || isLeft.queryset : view.viewClass.atomic
    const columns = this.#writtenColumns()
    const values = new Map(columns.map((column) => [column, null]))
    if (inserter || traitsOf(view.viewClass.modelClass()).plainInserts) {
      this.#subject.notes.push('the INSERT is that of a body with every field')
      await this.#step('insert', async () => {
        if (!inserter)
          this.#write('insert', (run, table) => run(table).insert(Object.fromEntries(values)).returning('*'))
        else if (isBulk) await inserter.many([values])
        else await inserter.one(resourceOf(view.viewClass).lookup, values, wanted)
      })
    } else this.#noteHooks('INSERT')
    if (!inserter) await this.#readSaved(isBulk)
    const insert: ExplainedInsert = inserter ? { by: 'statement' } : { by: 'serializer', ...because(this.#because) }
    return { ...NOTHING, insert, ...again, statements: this.#statements, transaction }
  }

  async change({ name, runs = name, writes, hooks }: Action): Promise<Road> {
    const view = this.#view
    const transaction = true
    const finding = ['getObject', 'getObjectToWrite']
    const asked = isDecided(this.#subject, ...CHOOSING, ...finding) || isDecidedOutside(this.#subject)
    const own = this.#overridden(name, runs)
    if (own) return { ...NOTHING, transaction }
    if (name === 'update' && takesPart(view.plan))
      this.#subject.notes.push('fields that the body leaves out stay as they are (partialPut)')
    const isChange = writes === 'update' && name !== 'restoreDeleted'
    const rows = view.plan.writing.way === 'statement' && !asked ? writableRows(view) : undefined
    if (rows) await this.#writeByStatement(writes === 'delete', rows)
    let condition: KeyedCondition | undefined
    if (!asked && !takesMany(name)) {
      await this.#step('hold', async () => {
        condition = conditionOf(view)
      })
    }
    const ways = this.#ways(writes === 'delete', condition)
    if (asked) return { ...NOTHING, ...ways, transaction }
    const { terms, condition: kept } = toTell(view, condition)
    const told = { version: terms.length > 0, queryset: kept !== undefined }
    const again = { ...ways, ...(isChange ? this.#readsAgain(name, told) : {}) }
    if (takesMany(name)) {
      await this.#changeMany(writes === 'delete', !this.#overridden(...hooks.filter((hook) => hook in view)))
      return { ...NOTHING, ...again, statements: this.#statements, transaction }
    }
    if (name === 'restoreDeleted' || name === 'purgeDeleted') view.deletedRows = 'deleted'
    const marks = name === 'restoreDeleted' || (name === 'destroy' && view.resource.deletion !== undefined)
    await this.#step('hold', async () => {
      await inViewTransaction(view, this.#recording.knex, () => view.getObjectToWrite())
    })
    if (view.plan.writing.before.way === 'loaded') await this.#loadRelated()
    const written = this.#overridden(...hooks.filter((hook) => hook in view))
    if (!written && marks) this.#setMark(name)
    else if (!written)
      await this.#step(writes === 'delete' ? 'delete' : 'update', () => this.#changeRow(writes === 'delete', condition))
    if (writes !== 'delete' && written) this.#noteRelations()
    else if (writes !== 'delete') await this.#readSaved(false)
    return { ...NOTHING, ...again, statements: this.#statements, transaction: rows === undefined }
  }

  /** A list of objects, which are two here: held together, and changed or deleted. */
  async #changeMany(isDeletion: boolean, isOurs: boolean): Promise<void> {
    const view = this.#view
    const { lookup } = view.resource
    const { changing, before, holding } = view.plan.writing
    const keys = [0, 1].map((key) => lookup.columns.map(() => key))
    if (holding.way !== 'none') await this.#step('hold', () => holdRows(view, { key: lookup, keys }))
    if (before.way === 'loaded') await this.#loadRelated()
    if (!isOurs) return
    if (isDeletion) {
      await this.#step('delete', () => deleteObjects(view, [this.#keyedObject(), this.#keyedObject()]))
      return
    }
    this.#subject.notes.push(
      changing.way === 'statement'
        ? 'one UPDATE for all objects that change'
        : 'one UPDATE for each object that changes',
    )
    await this.#readSaved(true)
  }

  /** The one statement that changes or deletes an object; what follows it is for requests that it is not for. */
  async #writeByStatement(isDeletion: boolean, { where, condition }: WritableRows): Promise<void> {
    const view = this.#view
    const { knex } = this.#recording
    const { lookup, model } = view.resource
    const named = new Map(lookup.columns.map(({ column }) => [column, 0]))
    if (isDeletion) {
      await this.#step('delete', () => deleteNamed(model.model, { named, where }, knex))
      this.#subject.notes.push('a condition (If-Match), or no such row: the row is held first')
    } else {
      const access = openRows(view, view.action as RowAnswer)
      const values = new Map(this.#writtenColumns().map((column) => [column, null]))
      const asked = writeConditions(view, 'update', condition)
      if (access) await this.#step('update', () => updateRow(access, { values, named, where, asked }))
      this.#subject.notes.push(
        'a condition (If-Match), a form, a patch document, a value that is refused or respelled, or no such row: the row is held first',
      )
    }
    this.#otherwise = 'else '
  }

  /** How the object on the path is written, and how rows are held, changed and deleted. */
  #ways(
    isDeletion: boolean,
    condition: KeyedCondition | undefined,
  ): Pick<Explanation, 'write' | 'hold' | 'change' | 'delete' | 'loads'> {
    const { plan, resource } = this.#view
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
    const { viewClass, resource } = this.#view
    const { serializerClass } = viewClass
    if (!serializerClass || this.#overridden('getObject', 'getObjectToWrite', 'loadRelated')) return
    const object = this.#keyedObject() as Model & Record<string, unknown>
    for (const name of Object.keys(serializerPlan(serializerClass).relations))
      for (const property of resource.model.relations.get(name)?.ownerProperties ?? []) object[property] = 0
    await this.#step('related', () => this.#view.loadRelated([object]))
  }

  /** How what was written is read for the answer. */
  async #readSaved(isList: boolean): Promise<void> {
    const saved = savedRows(this.#view)
    const object = this.#keyedObject()
    if (saved) await this.#step('object', () => readSavedRows(this.#view, saved, isList ? [object] : object))
    else this.#noteRelations()
  }

  /** Whether objects are read again once they are written, and what the statement that writes them tells of them. */
  #readsAgain(name: string, told: Told = UNTOLD): Pick<Explanation, 'readsAgain' | 'version' | 'returns'> {
    const { plan, resource, viewClass } = this.#view
    const { concurrency } = viewClass
    const serializerClass = declaredInput(viewClass)
    if (!serializerClass) return {}
    const action = (actionNamed(name)?.runs ?? name) as WritingAction
    const { keepsQueryset } = plan
    const kept = keepsQueryset && !told.queryset ? 'what is written must be in the queryset (mayLeaveQueryset)' : null
    const because = [resource.stored(action, serializerClass).because, kept].filter((one) => one !== null)
    const version = concurrency === null || takesMany(name) ? undefined : [concurrency].flat().join(', ')
    const returned = [
      ...(version !== undefined && told.version ? [`its version (${version})`] : []),
      ...(keepsQueryset && told.queryset ? ['that it is in the queryset (mayLeaveQueryset)'] : []),
    ]
    return {
      ...(because.length === 0 ? {} : { readsAgain: because.join('; ') }),
      ...(version === undefined || told.version ? {} : { version }),
      ...(returned.length === 0 ? {} : { returns: returned.join(', ') }),
    }
  }

  /** An object that has a key, and nothing else. */
  #keyedObject(): Model {
    const model = this.#view.viewClass.modelClass()
    const { columns } = this.#view.resource.lookup
    const names = [...describeModel(model).primaryKey, ...columns.map(({ property }) => property)]
    return Object.assign(new model(), Object.fromEntries(names.map((name) => [name, 0])))
  }

  async #changeRow(isDeletion: boolean, condition: KeyedCondition | undefined): Promise<void> {
    const { knex } = this.#recording
    const model = this.#view.viewClass.modelClass()
    const { columns, primaryKey } = describeModel(model)
    const object = this.#keyedObject()
    const values = new Map(this.#writtenColumns().map((column) => [column, null]))
    const { changing, deleting } = this.#view.plan.writing
    if ((isDeletion ? deleting : changing).way === 'statement') {
      if (!isDeletion) this.#subject.notes.push('the UPDATE is that of a body with every field')
      askOnChange(object, toTell(this.#view, condition))
      const asked = askedOfChange({ view: this.#view }, describeModel(model), [])
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
    const { knex } = this.#recording
    const { columns, primaryKey } = describeModel(this.#view.viewClass.modelClass())
    const mark = this.#view.resource.deletion?.column.column as string
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
    const model = modelName(this.#view.viewClass.modelClass())
    this.#subject.notes.push(`the ${statement} is Objection's: ${model} has hooks or methods of its own`)
  }

  /** A statement that Objection makes of a query of this kind. */
  #write(
    does: string,
    build: (knex: Recording['knex'], table: string) => { toSQL(): { toNative(): { sql: string } } },
  ): void {
    const { tableName } = this.#view.viewClass.modelClass()
    this.#statements.push({
      does: this.#otherwise + does,
      sql: build(this.#recording.knex, tableName).toSQL().toNative().sql,
    })
  }

  /** Runs a step and notes its statements; that nothing is found is expected. */
  async #step(does: string, work: () => Promise<unknown>): Promise<void> {
    const before = this.#recording.statements.length
    try {
      await work()
    } catch (error) {
      this.#take(does, error as Error)
    }
    const sent = this.#recording.statements.slice(before)
    this.#statements.push(...sent.map((sql) => ({ does: this.#otherwise + does, sql })))
  }

  /** What a step has failed with: nothing is found and nothing is written here, and code of the application may miss a request. */
  #take(does: string, error: Error): void {
    const { isAsked, notes } = this.#subject
    const isExpected = error instanceof NotFound || does === 'insert' || !isAsked
    if (error instanceof ConfigurationError) notes.push(error.message)
    else if (!(error instanceof ApiError && isExpected)) {
      if (isAsked) throw error
      notes.push(`${does}: ${error.name} without a request`)
    }
  }

  async #page(paginator: BasePagination, list: ListSource): Promise<void> {
    const { ctx } = this.#view
    const params = (ctx['params'] ?? {}) as Record<string, string>
    await paginator.paginate(list, { ctx, url: publicUrl(ctx), query: queryOf(ctx), params })
  }

  /** The method of these that the application has overridden, noted as what answers. */
  #overridden(...names: readonly string[]): string | undefined {
    const name = overridden(this.#view, ...names)
    if (name === undefined) return undefined
    const method = `${this.#view.constructor.name}.${name}()`
    this.#subject.notes.push(`decided by ${method} on each request`)
    return method
  }

  #isDecidedBy(policy: object | undefined, method: string): boolean {
    if (!policy || this.#subject.isAsked) return false
    this.#subject.notes.push(`decided by ${policy.constructor.name}.${method}() on each request`)
    return true
  }

  readonly #tell = (reason: string): undefined => {
    this.#because ??= reason
    return undefined
  }

  /** Whether rows would do, as far as that is known before the queryset is. */
  #rowsOf(action: 'list' | 'retrieve'): RowAccess | undefined {
    if (overridden(this.#view, 'getSerializerClass')) {
      return this.#tell(`${this.#view.viewClass.name} overrides getSerializerClass(): each of them is decided on`)
    }
    return openRows(this.#view, action, { tell: this.#tell })
  }

  #reading(rows: RowAccess | undefined): ExplainedReading {
    if (rows) return { from: rows.native ? 'native' : 'rows' }
    return { from: 'instances', ...because(this.#because) }
  }

  #noteRelations(): void {
    const { serializerClass } = this.#view.viewClass
    const relations = serializerClass ? Object.keys(serializerPlan(serializerClass).relations) : []
    if (relations.length > 0)
      this.#subject.notes.push(`then one statement for each relation shown: ${relations.join(', ')}`)
  }

  /** The columns that a body with every field writes. */
  #writtenColumns(): readonly string[] {
    const serializerClass = declaredInput(this.#view.viewClass)
    const { columns } = describeModel(this.#view.viewClass.modelClass())
    const written = serializerClass ? serializerPlan(serializerClass).writable : []
    const properties = written.flatMap(({ column, relation, input }) => {
      if (column) return [column.property]
      return relation?.kind === 'belongs-to-one' && input !== 'objects' ? relation.ownerProperties : []
    })
    const forced =
      this.#view.action === 'create' || this.#view.action === 'bulkCreate' ? forcedValues(this.#view) : undefined
    const all = new Set([...properties, ...(forced?.keys() ?? [])])
    return [...all].flatMap((property) => columns.get(property)?.column ?? [])
  }
}

function readingOf(list: ListSource, reason: string | undefined): ExplainedReading {
  if (list instanceof InstanceList) return { from: 'instances', ...because(reason) }
  return { from: list instanceof RowList && list.isNative ? 'native' : 'rows' }
}

function because(reason: string | undefined): { because?: string } {
  return reason === undefined ? {} : { because: reason }
}
