/** What each client does: the same requests, written as its generator would have them. */
export interface Trip {
  /** The names of all authors, by their names. */
  list(): Promise<readonly string[]>
  /** The title of a book. */
  retrieve(id: number): Promise<string>
  /** The name of a new author, as it is answered. */
  create(name: string): Promise<string>
  /** The URL of the file. */
  upload(title: string, file: File): Promise<string>
  /** The status of an author whose name is taken. */
  refuse(): Promise<number>
  /** How many authors were created. */
  bulk(names: readonly string[]): Promise<number>
}
