/** Names of events: `book.updated`, for what a change of an object is called outside. */

/** Event names of standard actions; others keep their names. */
const PAST: Readonly<Record<string, string>> = {
  create: 'created',
  update: 'updated',
  delete: 'deleted',
  restore: 'restored',
  purge: 'purged',
}

/** The event of a change. @param resource the first part of its routes' names */
export function eventOf(resource: string, action: string): string {
  return `${resource}.${PAST[action] ?? action}`
}

/** True where one of the names is the event's, or `book.*`, of all events of its resource. */
export function isAmong(names: readonly string[], event: string, resource = resourceOfEvent(event)): boolean {
  return names.includes(event) || names.includes(`${resource}.*`)
}

/** The same in SQL of a column `event`; binds a list of the names. */
export const IS_AMONG = `exists (select from unnest(?::text[]) as n(name)
  where n.name in (event, regexp_replace(event, '[^.]*$', '*')))`

/** The resource of an event, or of a pattern of some. */
export function resourceOfEvent(name: string): string {
  return name.slice(0, name.lastIndexOf('.'))
}

/** The events that names and patterns stand for, of a resource that may keep what is deleted. */
export function eventsOf(names: readonly string[], resource: string, isSoft: boolean): readonly string[] {
  const own = names.filter((name) => resourceOfEvent(name) === resource)
  const standard = Object.entries(PAST).filter(([action]) => isSoft || !SOFT.has(action))
  const all = own.includes(`${resource}.*`) ? standard.map(([, past]) => `${resource}.${past}`) : []
  return [...new Set([...all, ...own.filter((name) => !name.endsWith('.*'))])]
}

/** What happens to objects that are marked as deleted. */
const SOFT: ReadonlySet<string> = new Set(['restore', 'purge'])
