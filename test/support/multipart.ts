/** Bodies of multipart/form-data, well-formed or as broken as a test wants them. */

export interface TestPart {
  readonly name: string
  readonly filename?: string
  readonly type?: string
  readonly content: string | Buffer
}

export const BOUNDARY = 'koa-viewsets-test'

/** The header of a multipart body. */
export const MULTIPART = { 'Content-Type': `multipart/form-data; boundary=${BOUNDARY}` }

/** A well-formed body. */
export function multipart(...parts: readonly TestPart[]): Buffer {
  const blocks = parts.map(({ name, filename, type, content }) => {
    const file = filename === undefined ? '' : `; filename="${filename}"`
    const media = type === undefined ? '' : `\r\nContent-Type: ${type}`
    return part(`Content-Disposition: form-data; name="${name}"${file}${media}`, content)
  })
  return Buffer.concat([...blocks, Buffer.from(`--${BOUNDARY}--\r\n`)])
}

/** One part with the header as it is given. */
export function part(header: string, content: string | Buffer = 'x'): Buffer {
  return Buffer.concat([Buffer.from(`--${BOUNDARY}\r\n${header}\r\n\r\n`), Buffer.from(content), Buffer.from('\r\n')])
}

/** A body of parts whose headers are as they are given. */
export function multipartOf(...headers: readonly string[]): Buffer {
  return Buffer.concat([...headers.map((header) => part(header)), Buffer.from(`--${BOUNDARY}--\r\n`)])
}
