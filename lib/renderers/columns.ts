/** Which columns a serializer's output has, for renderers that write tables: an empty list has them, too. */

type Named = readonly { readonly name: string }[]

const columns = new WeakMap<object, Named>()

/** Remembers the columns of an output: a list of objects, or one. */
export function nameColumns<Data extends object>(data: Data, fields: Named): Data {
  columns.set(data, fields)
  return data
}

/** The columns of an output; none where no serializer has made it. */
export function columnsOf(data: object): readonly string[] {
  return columns.get(data)?.map(({ name }) => name) ?? []
}
