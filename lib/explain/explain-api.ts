/** Explains a router's paths: all, those of a name, or the one that a request is for. */

import type { Context } from '../http/context.js'
import { didYouMean } from '../kernel/near-miss.js'
import type { Endpoint } from '../views/endpoint.js'
import { explainOperation } from './explain.js'
import type { Explanation } from './explanation.js'
import type { ExplainOptions } from './subject.js'

interface Asked {
  /** A route or a basename. @default all */
  readonly name: string | undefined
  /** The tools that call each operation, by its name in the document. */
  readonly tools: ExplainOptions['tools']
}

/** @throws Error no route has the name */
export async function explainEndpoints(
  endpoints: readonly Endpoint[],
  { name, tools }: Asked,
): Promise<readonly Explanation[]> {
  const all = endpoints.flatMap((endpoint) =>
    [...endpoint.operations.values()].map((operation): ExplainOptions => ({ endpoint, operation, tools })),
  )
  const named = all.filter((one) => name === undefined || one.operation.name === name || one.endpoint.basename === name)
  if (named.length === 0 && name !== undefined) {
    const names = new Set(all.map(({ operation }) => operation.name))
    const basenames = all.map(({ endpoint }) => endpoint.basename ?? '')
    const fix = didYouMean(name, [...basenames, ...names]) || `; there are ${[...names].join(', ')}`
    throw new Error(`APIRouter: there is no route or basename "${name}"${fix}`)
  }
  const explanations: Explanation[] = []
  for (const one of named) explanations.push(await explainOperation(one))
  return explanations
}

interface ExplainedRequest {
  readonly ctx: Context
  readonly params: Readonly<Record<string, string>>
  readonly tools: ExplainOptions['tools']
}

/** Nothing where the path does not take the method. */
export async function explainRequest(
  endpoint: Endpoint,
  { tools, ...asked }: ExplainedRequest,
): Promise<readonly Explanation[]> {
  const { method } = asked.ctx
  const operation = endpoint.operations.get(method === 'HEAD' ? 'GET' : method)
  return operation ? [await explainOperation({ endpoint, operation, tools, asked })] : []
}
