/** Column names in SQL: which columns of a table a condition may ask for. Too many rather than too few. */

/** True for SQL that names a column, by itself or behind a name of its table. */
export function namesColumn(text: string, tables: readonly string[], column: string): boolean {
  for (const { groups } of text.matchAll(pattern(column))) {
    const { table } = groups ?? {}
    if (table === undefined || tables.includes(table)) return true
  }
  return false
}

/** Counts the references of SQL to a whole table: its name, where no column stands behind it. */
export function timesRead(text: string, table: string): number {
  return [...text.matchAll(pattern(table, '(?!\\s*\\.)'))].length
}

/** SQL in which columns of a table are named without its schema, as where rows of it stand in its place. */
export function withoutSchema(text: string, schema: string, table: string): string {
  const [before, own] = [schema, table].map((name) => `"?${escapedName(name)}"?\\s*\\.`)
  return text.replaceAll(new RegExp(`(?<![\\w$".])${before}\\s*(?=${own})`, 'g'), '')
}

/** Finds a name in SQL, with quotes or without, and what stands before its dot. */
function pattern(name: string, behind = ''): RegExp {
  const own = escapedName(name)
  return new RegExp(`(?:"?(?<table>[\\w$]+)"?\\s*\\.\\s*)?(?<![\\w$"])"?${own}"?(?![\\w$"])${behind}`, 'g')
}

function escapedName(name: string): string {
  return name.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
