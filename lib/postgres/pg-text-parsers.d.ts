/** pg's table of parsers, which its package has no types for. */
declare module 'pg-types/lib/textParsers.js' {
  const parsers: { init(register: (oid: number, parse: (text: string) => unknown) => void): void }
  export default parsers
}
