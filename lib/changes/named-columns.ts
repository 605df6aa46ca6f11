/** Column names in SQL: which columns of a table a condition may ask for. Too many rather than too few. */

/** True for SQL that names a column, by itself or behind a name of its table. */
export function namesColumn(text: string, tables: readonly string[], column: string): boolean {
  for (const { groups } of text.matchAll(pattern(column))) {
    const { table } = groups ?? {}
    if (table === undefined || tables.includes(table)) return true
  }
  return false
}

/** How often SQL reads a table: its name, where no column stands behind it. */
export function timesRead(text: string, table: string): number {
  return [...text.matchAll(pattern(table, '(?!\\s*\\.)'))].length
}

/** Finds a name in SQL, with quotes or without, and what stands before its dot. */
function pattern(name: string, behind = ''): RegExp {
  const own = name.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`(?:"?(?<table>[\\w$]+)"?\\s*\\.\\s*)?(?<![\\w$"])"?${own}"?(?![\\w$"])${behind}`, 'g')
}
