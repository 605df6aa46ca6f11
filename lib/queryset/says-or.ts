/** Tells conditions that may stand beside others as they are from those that need parentheses. */

const OR = /\bor\b/i
const TEXTS = /'[^']*'|"[^"]*"/g
/** Comments, texts between dollars, and quotes that end no text: what looks like a parenthesis may be none. */
const UNCLEAR = /--|\/\*|\$\w*\$|\\'|['"]/

/** True for SQL with an OR outside of parentheses, or where that cannot be told. */
export function saysOr(sql: string): boolean {
  if (!OR.test(sql)) return false
  const text = sql.replaceAll(TEXTS, (one) => (one.endsWith("\\'") ? one : ''))
  return UNCLEAR.test(text) || OR.test(withoutGroups(text))
}

function withoutGroups(sql: string): string {
  const outer = sql.replaceAll(/\([^()]*\)/g, '')
  return outer === sql ? sql : withoutGroups(outer)
}
