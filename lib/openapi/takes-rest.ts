/** Marks the parameter of a path that takes all that is left of it, slashes included, of which OpenAPI knows nothing. */
export const TAKES_REST = 'x-takes-rest'
