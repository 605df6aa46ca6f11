/** What statics make of requests and answers: other names of objects, other pages, and what stands around objects; the model of the rules knows keys and rows. */
import type { TestResponse } from '../../support/server.js'
import type { Application, Resource } from './application.js'
import { belowOf, type Estate, type Level, parentOf } from './estate.js'
import { MODELS, type Models } from './estate-views.js'
import { type Action, keeps, type Question } from './expected.js'
import { pathOf } from './questions.js'
import { ENVELOPES, FORMER_NAMES, PAGE_SIZE } from './statics.js'

type Item = Readonly<Record<string, unknown>>

/** Models that `IDMixin` has made have these. */
interface Named {
  readonly idConfig?: { readonly mode: string }
  encodeId?(key: number | string, context: object): string
  decodeId?(text: string, context: object): number | string | undefined
}

const OF_LISTS: ReadonlySet<Action> = new Set(['list', 'bulkCreate', 'bulkUpdate', 'bulkDestroy'])
const BARE: ReadonlySet<Action> = new Set(['bump', 'metadata'])

/** Says questions as clients ask them, and answers as the model of the rules knows them. */
export class Wire {
  readonly #models: Models
  readonly #own: Resource
  readonly #question: Question
  readonly #estate: Estate
  /** The rows once it was answered. */
  #answered: Estate

  constructor({ models = MODELS }: Application, question: Question, estate: Estate) {
    this.#models = models
    this.#question = question
    this.#own = question.route.chain.at(-1) as Resource
    this.#estate = estate
    this.#answered = estate
  }

  /** Says what is stored by now. */
  answeredAt(estate: Estate): void {
    this.#answered = estate
  }

  get path(): string {
    const { page, ...rest } = this.#question.query
    const { statics, isPaginated } = this.#own
    const pages = isPaginated ? statics?.pages : undefined
    const offset = { offset: String((Number(page) - 1) * PAGE_SIZE) }
    const isOffset = pages === 'limits' || pages === 'headers'
    const asked = page === undefined || pages === 'cursors' ? {} : isOffset ? offset : { page }
    const fields = rest['fields']?.split(',').map((name) => this.#toldName(name))
    const query = { ...rest, ...asked, ...(fields && { fields: fields.join(',') }), ...this.versionQuery }
    return pathOf({ ...this.#question, query }, (resource, id) => this.#nameOf(resource, id))
  }

  /** The version, where it is said in the query. */
  get versionQuery(): Record<string, string> {
    const { version } = this.#question
    return this.#own.statics?.versions === 'query' && version !== undefined ? { version } : {}
  }

  get #isFormer(): boolean {
    return this.#question.version === '1' && this.#own.statics?.versions != null
  }

  /** What the version calls a field. */
  #toldName(name: string): string {
    return (this.#isFormer && FORMER_NAMES[name]) || name
  }

  #toldNames(item: Item): Item {
    return Object.fromEntries(Object.entries(item).map(([name, value]) => [this.#toldName(name), value]))
  }

  /** @throws Error it has names of another version */
  #knownNames(item: Item): Item {
    if (!this.#isFormer) return item
    const known = new Map(Object.entries(FORMER_NAMES).map(([name, former]) => [former, name]))
    const wrong = Object.keys(item).find((name) => FORMER_NAMES[name] !== undefined)
    if (wrong !== undefined) throw new Error(`"${wrong}" is of another version, in ${JSON.stringify(item)}`)
    return Object.fromEntries(Object.entries(item).map(([name, value]) => [known.get(name) ?? name, value]))
  }

  /** Where the object is read. */
  get objectPath(): string {
    const question: Question = { ...this.#question, action: 'retrieve', query: this.versionQuery }
    return pathOf(question, (resource, id) => this.#nameOf(resource, id))
  }

  /** What the list is at another end of its path, with its filters. */
  pathBeside(end: string, asked: Readonly<Record<string, string>> = {}): string {
    const { n__gte, deleted } = this.#question.query
    const query = {
      ...(n__gte !== undefined && { n__gte }),
      ...(deleted !== undefined && { deleted }),
      ...asked,
      ...this.versionQuery,
    }
    const [before = ''] = this.path.split('?')
    return `${before}${end}?${new URLSearchParams(query).toString()}`
  }

  /** The list's parameters as the body of a QUERY. */
  get queryBody(): object {
    const asked = Object.fromEntries(new URLSearchParams(this.path.split('?')[1] ?? ''))
    const { n__gte, page, offset, deleted, version: _, ...rest } = asked
    const { statics } = this.#own
    return {
      ...rest,
      ...(deleted !== undefined && statics?.deletes === 'marks and tells' && { deleted }),
      ...(n__gte !== undefined && keeps(this.#question, this.#own) !== 'n' && { filter: { n__gte: Number(n__gte) } }),
      ...(page !== undefined && { page: Number(page) }),
      ...(offset !== undefined && { offset: Number(offset) }),
    }
  }

  get body(): unknown {
    const { body, action, patch } = this.#question
    if (body === undefined || !this.#own.statics) return body
    const inside = Array.isArray(body) ? body.map((item) => this.#itemOf(item)) : this.#itemOf(body)
    if (patch === 'application/json-patch+json') return operationsOf(inside as Item)
    const name = this.#envelope[OF_LISTS.has(action) ? 'list' : 'object']
    return name === undefined ? inside : { [name]: inside }
  }

  /** What was answered. @throws Error it has another form than the statics say */
  read(status: number, json: unknown, headers: TestResponse['headers'] = {}): unknown {
    const { statics } = this.#own
    const { action } = this.#question
    if (action === 'metadata' && status === 200) return this.#metadataOf(json)
    if (!statics || json === undefined || BARE.has(action)) return json
    if (status >= 400) return this.#problemOf(json)
    if (action === 'list') return this.#listOf(json, headers)
    if (action === 'bulkDestroy') {
      return { deleted: (json as { deleted: unknown[] }).deleted.map((name) => this.#idOf(name)) }
    }
    const inside = this.#inside(json, OF_LISTS.has(action) ? 'list' : 'object')
    return Array.isArray(inside) ? inside.map((item) => this.objectOf(item)) : this.objectOf(inside)
  }

  /** The objects of a list, as they are answered. */
  objectsOf(json: unknown): readonly Item[] {
    if (this.#isBare) return this.#inside(json, 'list') as readonly Item[]
    return (json as Record<string, readonly Item[]>)[this.#envelope.list ?? 'results'] ?? []
  }

  get #envelope(): { readonly object?: string; readonly list?: string; readonly meta?: string } {
    return ENVELOPES[this.#own.statics?.envelope ?? 'none']
  }

  #inside(json: unknown, kind: 'object' | 'list'): unknown {
    const name = this.#envelope[kind]
    if (name === undefined) return json
    const names = Object.keys(json as object)
    if (names.length !== 1 || names[0] !== name) throw new Error(`no "${name}" around ${JSON.stringify(json)}`)
    return (json as Item)[name]
  }

  /** Nothing stands beside the objects of a list. */
  get #isBare(): boolean {
    return !this.#own.isPaginated || this.#own.statics?.pages === 'headers'
  }

  #listOf(json: unknown, headers: TestResponse['headers']): unknown {
    if (this.#isBare) {
      const objects = (this.#inside(json, 'list') as readonly unknown[]).map((item) => this.objectOf(item))
      if (!this.#own.isPaginated) return objects
      const pageAt = (rel: string) => (String(headers.link).includes(`rel="${rel}"`) ? 'in a header' : null)
      const count = Number(headers['x-total-count'])
      return { count, next: pageAt('next'), previous: pageAt('prev'), results: objects }
    }
    const { list = 'results', meta } = this.#envelope
    const { [list]: results, ...beside } = json as Record<string, unknown>
    const rest = meta === undefined ? beside : (beside[meta] as Item)
    if (!Array.isArray(results) || (meta !== undefined && Object.keys(beside).length !== 1)) {
      throw new Error(`another page: ${JSON.stringify(json)}`)
    }
    return { ...rest, results: results.map((item) => this.objectOf(item)) }
  }

  #nameOf(resource: Resource, id: number): string {
    if (resource.statics?.lookup === 'code') return this.#estate.rows[resource.level].get(id)?.code ?? 'none'
    return String(this.#keyOf(resource.level, id))
  }

  /** Who sees ids that differ from caller to caller. */
  get #caller(): object {
    return { user: this.#question.user ?? undefined }
  }

  #keyOf(level: Level, id: unknown): unknown {
    const { encodeId, idConfig } = this.#models[level] as Named
    if (typeof id !== 'number' || !encodeId) return id
    const key = idConfig?.mode === 'random' ? (this.#estate.rows[level].get(id)?.public_id ?? 'none') : id
    return encodeId.call(this.#models[level], key, this.#caller)
  }

  /** The key behind what clients see of it. @throws Error it is another form of it */
  #decoded(level: Level, shown: unknown): unknown {
    const { decodeId, idConfig } = this.#models[level] as Named
    if (shown === null || shown === undefined) return shown
    if (idConfig?.mode === 'random') return this.#stored(level, shown)
    const id = decodeId && typeof shown === 'string' ? decodeId.call(this.#models[level], shown, this.#caller) : shown
    if (typeof id !== 'number' || (decodeId && id === shown)) {
      throw new Error(`${JSON.stringify(shown)} is no key of ${level}`)
    }
    return id
  }

  #stored(level: Level, shown: unknown): number {
    for (const estate of [this.#answered, this.#estate]) {
      for (const { id, public_id } of estate.rows[level].values()) if (public_id === shown) return id
    }
    if (shown === 'none') return 999
    throw new Error(`${JSON.stringify(shown)} is no key of ${level}`)
  }

  /** The object that an item, or a message, names as paths do. */
  #idOf(name: unknown): unknown {
    const { level, statics } = this.#own
    if (statics?.lookup !== 'code') return this.#decoded(level, name)
    return [...this.#estate.rows[level].values()].find(({ code }) => code === name)?.id ?? 999
  }

  #itemOf(item: unknown): unknown {
    const { level, statics } = this.#own
    if (typeof item === 'number') {
      return statics?.lookup === 'code' ? this.#nameOf(this.#own, item) : this.#keyOf(level, item)
    }
    const { id, ...rest } = this.#toldNames(item as Item)
    return {
      ...(id !== undefined && { [statics?.lookup ?? 'id']: this.#itemOf(id) }),
      ...rest,
      ...('parent_id' in rest && { parent_id: this.#keyOf(parentOf(level), rest['parent_id']) }),
      ...this.#inner(level, rest, (at, key) => this.#keyOf(at, key)),
    }
  }

  /** The objects inside an object, with other keys. */
  #inner(level: Level, { parent, children }: Item, keyed: (level: Level, key: unknown) => unknown): Item {
    const below = belowOf(level)
    const renamed = (at: Level, object: Item): Item => ({
      ...object,
      ...('id' in object && { id: keyed(at, object['id']) }),
      ...this.#inner(at, object, keyed),
    })
    return {
      ...(parent != null && { parent: renamed(parentOf(level), parent as Item) }),
      ...(below && Array.isArray(children) && { children: children.map((child) => renamed(below, child as Item)) }),
    }
  }

  /** An object, as the model of the rules knows it. */
  objectOf(object: unknown): unknown {
    const { level } = this.#own
    const { id, parent_id, ...rest } = this.#knownNames(object as Item)
    return {
      ...('id' in (object as Item) && { id: this.#decoded(level, id) }),
      ...('parent_id' in (object as Item) && { parent_id: this.#decoded(parentOf(level), parent_id) }),
      ...rest,
      ...this.#inner(level, rest, (at, key) => this.#decoded(at, key)),
    }
  }

  #metadataOf(json: unknown): unknown {
    const { actions, ...rest } = json as { actions?: { readonly fields?: Item } }
    if (!actions?.fields) return json
    return { ...rest, actions: { ...actions, fields: this.#knownNames(actions.fields) } }
  }

  /** Messages about objects that items name: by keys, in place of what clients call them. */
  #problemOf(json: unknown): unknown {
    const name = this.#own.statics?.lookup ?? 'id'
    const { errors, ...rest } = json as { errors?: Record<string, unknown> }
    if (!errors || !this.#question.action.startsWith('bulk')) return json
    const told = Object.entries(errors).map(([position, messages]) => {
      const [message] = ((messages as Item)[name] ?? []) as readonly string[]
      const [, key] = /^Invalid pk "(.+)" - /.exec(message ?? '') ?? []
      if (message === undefined || key === undefined) return [position, messages]
      const isNumber = typeof this.#itemOf(999) === 'number'
      return [position, { id: [message.replace(`"${key}"`, `"${String(this.#idOf(isNumber ? Number(key) : key))}"`)] }]
    })
    return { ...rest, errors: Object.fromEntries(told) }
  }
}

/** A JSON patch that sets these members. */
function operationsOf(item: Item): readonly object[] {
  return Object.entries(item).map(([name, value]) => ({ op: 'add', path: `/${name}`, value }))
}
