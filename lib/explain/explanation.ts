/** What `explain()` says of one method of a path. */

/** How objects are read for an answer. */
export interface ExplainedReading {
  /**
   * `rows`: strings of rows become JSON without instances of the model; `native`: PostgreSQL writes the JSON; `instances`:
   * rows become instances of the model, which serializers read.
   */
  readonly from: 'rows' | 'native' | 'instances'
  /** Why not in a faster way. */
  readonly because?: string
}

/** How a new object gets into the database. */
export interface ExplainedInsert {
  /** `statement`: one INSERT that also returns what is shown; `serializer`: `serializer.save()`, then reading what is shown. */
  readonly by: 'statement' | 'serializer'
  /** Why not by one statement. */
  readonly because?: string
}

/** How a row that is there is locked, changed or deleted. */
export interface ExplainedWrite<Way extends string> {
  /** `statement`: one of ours; `model`, `queryset`: by the application's model, or the view's queryset; `mark`, `none`: as they say. */
  readonly by: Way
  /** Why not in the fastest way. */
  readonly because?: string
}

/** A statement as it is sent; its values are parameters. */
export interface ExplainedStatement {
  /** What it is for: `list`, `object`, `hold`, `insert`, `update` or `delete`; `else hold` and so on where the first is not enough. */
  readonly does: string
  /** As it would be sent, with `$1` in place of each value. */
  readonly sql: string
}

/** The classes of what a request passes, in that order. */
export interface ExplainedPolicies {
  /** How requests name the API version. */
  readonly versioning: string | null
  /** Schemes that are tried, in this order. */
  readonly authentication: readonly string[]
  /** Permissions that are asked, in this order. */
  readonly permissions: readonly string[]
  /** Throttles that are asked, in this order. */
  readonly throttles: readonly string[]
}

/** One method of a path. Names of classes, parameters and columns; never values, secrets or settings. */
export interface Explanation {
  /** The route's name, such as `book-list`. */
  readonly name: string
  /** In upper case. */
  readonly method: string
  /** The path as the OpenAPI document has it, such as `/api/books/{id}`. */
  readonly path: string
  /** The view's class and the method of it that answers, such as `BookViewSet.list`. */
  readonly answeredBy: string
  /** What is asked before the action, by the names of its classes. */
  readonly policies: ExplainedPolicies
  /** What checks the body of an action of the application's own: a serializer's class, or `zod schema` and the like. */
  readonly input: string | null
  /** What reads bodies; empty for a method that takes none. */
  readonly parsers: readonly string[]
  /** What writes answers, the default first. */
  readonly renderers: readonly string[]
  /** The filter backends of a list, in the order in which they narrow it. */
  readonly filters: readonly string[]
  /** The paginator of a list. */
  readonly pagination: string | null
  /** The query parameters that a client may give. */
  readonly parameters: readonly string[]
  /** The relations that groups of filters may ask about, each with the view set that shows their objects. */
  readonly relations: readonly string[]
  /** The relations that foreign keys make of a model of `table(…, { relations: 'foreign keys' })`, with their objects. */
  readonly foreignKeys?: readonly string[]
  /**
   * Which rows rules let the caller of the request that is given see and write, of each model that the answer shows: SQL with
   * `$1` in place of each value; and the view sets from which related objects come. Missing where nothing says so.
   */
  readonly rules?: readonly string[]
  /** What says which role and settings the statements run with; null for those of the connection. */
  readonly database: string | null
  /** What is done of an `Idempotency-Key`; null where the header means nothing. */
  readonly idempotency: string | null
  /** How many replicas it reads on; 0 for the view's own database. */
  readonly replicas: number
  /**
   * The channels of `koa-viewsets/tracing` that somebody in this process listens to, at this moment. `serverTiming()` and
   * `slowRequests()` are the app's, which a router does not know.
   */
  readonly traced: readonly string[]
  /** The tools by which agents call it (`mcp()`). */
  readonly tools: readonly string[]
  /** The request is one transaction. */
  readonly transaction: boolean
  /** How objects are read; null for an action that reads none. */
  readonly reading: ExplainedReading | null
  /** Why objects that were written are read again for the answer; missing where RETURNING shows what is stored. */
  readonly readsAgain?: string
  /** The columns by which versions of a row are told apart (`concurrency`), where they are read once more when it was written. */
  readonly version?: string
  /** What the statement that writes a row tells of it besides: its version, or that it is in the queryset. */
  readonly returns?: string
  /** How an object is stored by a create; null for other actions. */
  readonly insert: ExplainedInsert | null
  /**
   * How the object that the path names is changed or deleted: by one statement that finds it, or in a transaction that holds
   * its row before. Missing for actions that name none, as are the next three.
   */
  readonly write?: ExplainedWrite<'statement' | 'transaction'>
  /** How the rows that a request names are locked: by one statement of ours, by the view's queryset, or not at all. */
  readonly hold?: ExplainedWrite<'statement' | 'queryset' | 'none'>
  /** How a row is changed: by one statement of ours, or by the model's own `$query().patch()`, with its hooks. */
  readonly change?: ExplainedWrite<'statement' | 'model'>
  /** How a row is deleted: as `change`, or by a mark (`softDelete`). */
  readonly delete?: ExplainedWrite<'statement' | 'model' | 'mark'>
  /** The fields that are recorded of each object that it changes (`koa-viewsets/changes`); missing where nothing is. */
  readonly records?: readonly string[]
  /** The webhooks that tell of changes of its objects; left out where none do. */
  readonly tells?: readonly string[]
  /** Of a stream of changes, the columns by which one can tell who saw an object. */
  readonly seenBy?: readonly string[]
  /** Why what is shown of related objects is loaded before the row is written, too; missing where it is not. */
  readonly loads?: string
  /** The statements that it sends, as far as they are known before a request. */
  readonly statements: readonly ExplainedStatement[]
  /** What is not known before there is a request, and what comes besides, a sentence each. */
  readonly notes: readonly string[]
}
