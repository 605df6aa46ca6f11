/** The contract of metadata: what OPTIONS answers about a view. */

import type { Context } from '../http/context.js'
import { described } from '../kernel/declarations.js'
import type { SerializerPlan } from '../serializers/contract.js'

/** What metadata may know of the view it describes. */
export interface DescribedView {
  /** The view's class name. */
  readonly name: string
  /** The view's static `description`. */
  readonly description: string
  /** The methods its path takes, as in `Allow`. */
  readonly allowed: readonly string[]
  /** The fields of the serializer that POST, PUT or PATCH takes; undefined where the path takes none of them. */
  readonly input: SerializerPlan | undefined
  /** What the body leaves out stays as it is: no field is required. */
  readonly partial?: boolean | undefined
  /** The names that parameters of aggregates and facets take, by parameter; undefined on other paths. */
  readonly names?: Readonly<Record<string, readonly string[]>> | undefined
}

/**
 * Describes a view for OPTIONS. It runs after authentication, permissions and throttles, and asks no database
 * (promise E16). Immutable and shared by all requests.
 * @example
 * class Terse extends BaseMetadata {
 *   override determineMetadata(_ctx: Context, { name }: DescribedView) { return { name } }
 * }
 * class BookViewSet extends ModelViewSet<Book> { static override metadataClass = Terse }
 */
export abstract class BaseMetadata {
  /** The body of the answer. `Allow` is set already. */
  abstract determineMetadata(ctx: Context, view: DescribedView): unknown
}

described(BaseMetadata)
