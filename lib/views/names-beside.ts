/** Reserved names of paths, which stand beside keys of objects: a key that is one of them is written in another way. */
import { oncePer } from '../kernel/once-per.js'
import { type ActionClass, actionsOf } from './action-options.js'
import { actionsOn, answers } from './actions.js'

const OF_LISTS = ['aggregate', 'facets', 'bulk'] as const

/** `bulk`, and the names of actions on lists; a router adds what it has registered below the path of the view set. */
export const namesBeside = oncePer((view: ActionClass): Set<string> => {
  const standard = OF_LISTS.filter((path) => Object.values(actionsOn(path)).some((action) => answers(view, action)))
  const own = [...actionsOf(view).values()].filter(({ detail, urlPath }) => !detail && urlPath !== '')
  return new Set([...standard, ...own.map(({ urlPath }) => urlPath.replace(/^\//, '').split('/')[0] as string)])
})
