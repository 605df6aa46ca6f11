/** What mixins are made over. */
import type { GenericAPIView } from '../generic-api-view.js'

/** A class to mix into: a generic view or a subclass of it. */
// biome-ignore lint/suspicious/noExplicitAny: TypeScript demands it of a mixin's base
export type ViewConstructor = new (...args: any[]) => GenericAPIView<any>
