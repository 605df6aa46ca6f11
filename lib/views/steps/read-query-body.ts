/** Reads the body of a QUERY (RFC 10008) as the parameters that the URL of a GET would have: docs/reference/query-method.md. */

import { GROUP_NAMES, groupOfJson, keepPlaces } from '../../filters/group-of-json.js'
import { type QueryParameters, queryOf, setQuery } from '../../http/context.js'
import { BadRequest, type ErrorMessages, ValidationError } from '../../kernel/errors.js'
import { isRecord } from '../../kernel/records.js'
import { shownName, UnknownNames } from '../../kernel/unknown-names.js'
import { parseBody } from '../../parsers/parser.js'
import { takesQuery } from '../actions.js'
import type { GenericView } from '../generic-view.js'
import { queryParsers } from '../policies.js'
import { type QueryMembers, queryMembers } from '../query-members.js'
import type { View } from '../view.js'
import { parameterText } from './parameter-text.js'
import { askedSelection } from './selection.js'

/** The member of a body that holds conditions. */
const FILTER = 'filter'
/** True for a view whose QUERY says in its body what is asked: of an action that comes with the package. */
export function asksByBody(view: View): view is GenericView {
  const { resource } = view as Partial<GenericView>
  return takesQuery(view.plan.action) && resource !== undefined
}

/**
 * Reads what a QUERY asks, from its URL and its body.
 * @throws UnsupportedMediaType the body is no JSON, or does not say so
 * @throws BadRequest it is no object
 * @throws ValidationError naming what nothing of the view reads, what no parameter can say, and what the URL says, too
 */
export async function readQueryBody(view: GenericView): Promise<void> {
  const { ctx } = view
  const { policies, action } = view.plan
  const { data } = await parseBody(ctx, queryParsers(policies))
  if (!isRecord(data)) throw new BadRequest('Expected an object')
  // a body without a type is none that can be understood (RFC 10008 section 2)
  if (ctx.req.headers['content-type'] === undefined) throw new BadRequest('Expected a body of JSON')
  const errors: ErrorMessages = {}
  const members = queryMembers(view.asked, action)
  const asked = parametersOf(data, { members, selecting: () => askedSelection(view).map(({ name }) => name) }, errors)
  const query = queryOf(ctx)
  for (const name of Object.keys(query)) {
    // links to other pages carry these, to be sent with the same body
    if (Object.hasOwn(asked, name) && !members.paging.has(name)) errors[shownName(name)] = [TWICE]
    asked[name] = query[name]
  }
  if (Object.keys(errors).length > 0) throw new ValidationError(errors)
  setQuery(ctx, asked)
}

const TWICE = 'Give it in the body or in the URL, not in both.'

type Body = Readonly<Record<string, unknown>>
type Asked = Record<string, QueryParameters[string]>

interface Readable {
  readonly members: QueryMembers
  readonly selecting: () => readonly string[]
}

function parametersOf(body: Body, { members, selecting }: Readable, errors: ErrorMessages): Asked {
  const { others, filters, group } = members
  const filtered = filters.size > 0 || group !== undefined ? [FILTER] : []
  const asked = Object.create(null) as Asked
  let selection: readonly string[] | undefined
  const selected = () => (selection ??= selecting())
  const unknown = new UnknownNames('member')
  const known = () => [...filtered, ...others.keys(), ...selected()]
  for (const name of Object.keys(body)) {
    const parameter = others.get(name)?.name ?? selected().find((one) => one === name)
    if (parameter !== undefined) keep(asked, parameter, { errors, read: () => parameterText(body, name) })
    else if (filtered.includes(name)) readFilter(body, members, { asked, errors })
    else unknown.note(name, known, errors)
  }
  return asked
}

/** Conditions that all hold: those of plain names are parameters, the others one group. */
function readFilter(
  body: Body,
  { filters, group }: QueryMembers,
  { asked, errors }: { asked: Asked; errors: ErrorMessages },
): void {
  const filter = body[FILTER]
  if (typeof filter === 'string' && group !== undefined) {
    asked[group] = filter
    return
  }
  if (typeof filter !== 'object' || filter === null || Array.isArray(filter)) {
    errors[FILTER] = [group === undefined ? 'Give an object.' : 'Give an object, or a text of conditions.']
    return
  }
  const tree: Record<string, unknown> = {}
  const unknown = new UnknownNames('filter')
  for (const name of Object.keys(filter)) {
    if (filters.has(name)) keep(asked, name, { errors, read: () => parameterText(filter, name) })
    else if (group !== undefined && (GROUP_NAMES.has(name) || name.includes('('))) {
      tree[name] = (filter as Body)[name]
    } else unknown.note(name, () => fieldsAmong(filters), errors)
  }
  if (group !== undefined && Object.keys(tree).length > 0) {
    keep(asked, group, {
      errors,
      read: () => {
        const written = groupOfJson(tree, parameterText)
        keepPlaces(asked, written)
        return written.text
      },
    })
  }
}

/** The names of filters without their lookups: `price`, `author__name`. */
function fieldsAmong(filters: QueryMembers['filters']): readonly string[] {
  return [...filters.keys()].filter((name) => !filters.has(name.slice(0, Math.max(0, name.lastIndexOf('__')))))
}

function keep(asked: Asked, name: string, { errors, read }: { errors: ErrorMessages; read: () => string }): void {
  try {
    asked[name] = read()
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error
    errors[name] = error.messages
  }
}
