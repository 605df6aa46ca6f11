/** What the steps of a request do, noted one after the other. */

import { ApiError, ConfigurationError, NotFound } from '../kernel/errors.js'
import { describedSerializer } from '../openapi/subject.js'
import type { Recording } from '../postgres/recording-knex.js'
import type { RowAccess } from '../rows/row-access.js'
import { serializerPlan } from '../serializers/plan.js'
import { overridden } from '../views/built-in.js'
import type { GenericAPIView } from '../views/generic-api-view.js'
import { askRelations } from '../views/request/ask-relations.js'
import type { ExplainedReading, ExplainedStatement, Explanation } from './explanation.js'
import type { ExplainedView } from './subject.js'

export type Road = Pick<Explanation, 'reading' | 'insert' | 'statements'> &
  Partial<
    Pick<
      Explanation,
      'transaction' | 'readsAgain' | 'version' | 'returns' | 'write' | 'hold' | 'change' | 'delete' | 'loads'
    >
  >

export const NOTHING: Road = { reading: null, insert: null, statements: [] }

/** What chooses the objects of any action. */
export const CHOOSING_OBJECTS = ['getQueryset', 'getSerializerClass']
/** Notes what each step does. */
export class RoadBook {
  protected readonly subject: ExplainedView<GenericAPIView>
  protected readonly view: GenericAPIView
  protected readonly recording: Recording
  protected readonly statements: ExplainedStatement[] = []
  protected because: string | undefined
  /** Before the statements that are sent only where the first is not enough. */
  protected otherwise = ''

  constructor(subject: ExplainedView<GenericAPIView>, recording: Recording) {
    this.subject = subject
    this.view = subject.view
    this.recording = recording
  }

  /** What is asked before the action of the related objects that it filters by or counts. */
  async askRelations(): Promise<void> {
    if (this.view.resource.asksRelations) await this.step('relations', () => askRelations(this.view))
  }

  /** Runs a step and notes its statements; that nothing is found is expected. */
  protected async step(does: string, work: () => Promise<unknown>): Promise<void> {
    const before = this.recording.statements.length
    try {
      await work()
    } catch (error) {
      this.#take(does, error as Error)
    }
    const sent = this.recording.statements.slice(before)
    this.statements.push(...sent.map((sql) => ({ does: this.otherwise + does, sql })))
  }

  /** What a step has failed with: nothing is found and nothing is written here, and code of the application may miss a request. */
  #take(does: string, error: Error): void {
    const { isAsked, notes } = this.subject
    const isExpected = error instanceof NotFound || does === 'insert' || !isAsked
    if (error instanceof ConfigurationError) notes.push(error.message)
    else if (!(error instanceof ApiError && isExpected)) {
      if (isAsked) throw error
      notes.push(`${does}: ${error.name} without a request`)
    }
  }

  /** The method of these that the application has overridden, noted as what answers. */
  protected overridden(...names: readonly string[]): string | undefined {
    const name = overridden(this.view, ...names)
    if (name === undefined) return undefined
    const method = `${this.view.constructor.name}.${name}()`
    this.subject.notes.push(`decided by ${method} on each request`)
    return method
  }

  protected readonly tell = (reason: string): undefined => {
    this.because ??= reason
    return undefined
  }

  protected reading(rows: RowAccess | undefined): ExplainedReading {
    if (rows) return { from: rows.native ? 'native' : 'rows' }
    return { from: 'instances', ...because(this.because) }
  }

  protected noteRelations(): void {
    const shown = describedSerializer(this.view)
    const relations = shown ? Object.keys(serializerPlan(shown).relations) : []
    if (relations.length > 0)
      this.subject.notes.push(`then one statement for each relation shown: ${relations.join(', ')}`)
  }
}

export function because(reason: string | undefined): { because?: string } {
  return reason === undefined ? {} : { because: reason }
}
