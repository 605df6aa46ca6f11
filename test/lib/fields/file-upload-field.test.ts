import { describe, expect, it } from 'vitest'
import {
  FileUploadField,
  type FileUploadFieldOptions,
  ImageUploadField,
} from '../../../lib/fields/file-upload-field.js'
import type { StorableFile } from '../../../lib/fields/upload-storage.js'
import { ConfigurationError, ValidationError } from '../../../lib/kernel/errors.js'
import { UploadedFile } from '../../../lib/parsers/uploads.js'

const named = (filename: string, content: string | Buffer = 'x') => Object.assign(Buffer.from(content), { filename })
const storage = { save: async () => 'key', delete: async () => {}, url: (key: string) => `https://files.test/${key}` }

async function read(field: FileUploadField | ImageUploadField, value: unknown): Promise<StorableFile | string> {
  try {
    return await field.toInternalValue(value)
  } catch (error) {
    expect(error).toBeInstanceOf(ValidationError)
    return ((error as ValidationError).messages as string[])[0] as string
  }
}

describe('FileUploadField', () => {
  it.each(['jpg', 'jpeg', 'png', 'gif', 'webp', 'bmp', 'svg', 'pdf', 'txt', 'csv', 'json', 'xml', 'zip'])(
    'takes %s unless told otherwise',
    async (extension) => {
      expect(await read(new FileUploadField(), named(`a.${extension}`))).toMatchObject({
        extension,
        filename: `a.${extension}`,
      })
    },
  )

  it('gives name, extension, size and the media type of the extension, and its bytes', async () => {
    const file = (await read(new FileUploadField(), named('../My Photo.JPG', 'bytes'))) as StorableFile
    const { filename, extension, mediaType, size } = file
    expect({ filename, extension, mediaType, size }).toEqual({
      filename: 'My Photo.JPG',
      extension: 'jpg',
      mediaType: 'image/jpeg',
      size: 5,
    })
    expect(Buffer.concat(await file.stream().toArray()).toString()).toBe('bytes')
  })

  it.each<[unknown, string]>([
    ['text', 'No file uploaded.'],
    ['', 'No file uploaded.'],
    [5, 'No file uploaded.'],
    [[], 'No file uploaded.'],
    [Buffer.from('x'), 'No file uploaded.'],
    [{ filename: 'a.txt', path: '/etc/passwd', size: 5 }, 'No file uploaded.'],
    [{ filepath: '/etc/passwd', originalFilename: 'a.txt', size: 5 }, 'No file uploaded.'],
    [named('a.exe'), 'File extension "exe" is not allowed.'],
    [named('a.png.exe'), 'File extension "exe" is not allowed.'],
    [named('a'), 'File extension "" is not allowed.'],
    [named('.png'), 'File extension "" is not allowed.'],
    [named('a.'), 'File extension "" is not allowed.'],
    [named('a.__proto__'), 'File extension "__proto__" is not allowed.'],
    [named(`a.${'x'.repeat(200)}`), `File extension "${'x'.repeat(62)}" is not allowed.`],
    [named('a.txt', ''), 'The file is empty.'],
    [named('a.txt', Buffer.alloc(10 * 1024 * 1024 + 1)), 'File too large: at most 10485760 bytes.'],
  ])('[F5 F13] refuses %j', async (value, message) => {
    expect(await read(new FileUploadField(), value)).toBe(message)
  })

  it('shows a URL, and a column without a storage as it is', () => {
    expect(new FileUploadField({ storage }).toRepresentation('a.png')).toBe('https://files.test/a.png')
    expect(new FileUploadField({ storage }).toRepresentation('')).toBe('')
    expect(new FileUploadField().toRepresentation('a.png')).toBe('a.png')
    const signing = { ...storage, url: () => Promise.reject(new Error('late')) as never }
    expect(() => new FileUploadField({ storage: signing }).toRepresentation('a.png')).toThrow('returned a promise')
  })

  it('describes itself', () => {
    expect(new FileUploadField().schema()).toEqual({ type: 'string', format: 'uri-reference' })
    expect(new FileUploadField().inputSchema()).toEqual({
      type: 'string',
      format: 'binary',
      contentMediaType: 'application/octet-stream',
    })
  })

  it.each<FileUploadFieldOptions>([
    { maxSize: 0 },
    { maxSize: 1.5 },
    { allowedExtensions: [] },
    { allowedExtensions: ['.pdf'] },
    { allowedExtensions: ['../x'] },
  ])('refuses the option %j', (options) => {
    expect(() => new FileUploadField(options)).toThrow(ConfigurationError)
  })
})

describe('ImageUploadField', () => {
  const signatures: Record<string, string | Buffer> = {
    png: Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    jpg: Buffer.from([0xff, 0xd8, 0xff]),
    gif: 'GIF89a',
    webp: 'RIFF',
    bmp: 'BM',
    svg: '<svg xmlns="http://www.w3.org/2000/svg"/>',
  }
  const extensions = ['png', 'jpg', 'jpeg', 'gif', 'webp', 'bmp', 'svg']
  const cases = Object.keys(signatures).flatMap((format) => extensions.map((extension) => [format, extension] as const))

  it.each(cases)('[F11] judges a %s named .%s', async (format, extension) => {
    const result = await read(new ImageUploadField(), named(`a.${extension}`, signatures[format]))
    const fits = format === extension || (format === 'jpg' && extension === 'jpeg')
    if (fits) expect(result).toMatchObject({ extension })
    else expect(result).toBe('The content does not match the extension.')
  })

  it.each([
    ['a.gif', 'GIF87a', true],
    ['a.gif', 'GIF88a', false],
    ['a.svg', '<?xml version="1.0"?><svg/>', true],
    ['a.svg', ' <svg/>', false],
    ['a.svg', '<html><svg/>', false],
    ['a.png', '\x89PNG', false],
    ['a.png', 'B', false],
  ])('[F11] %s that begins with %j: %s', async (name, content, fits) => {
    const result = await read(new ImageUploadField(), named(name, Buffer.from(content, 'latin1')))
    expect(typeof result === 'string').toBe(!fits)
  })

  it('[F11] compares nothing when told so, and takes other extensions only then', async () => {
    expect(await read(new ImageUploadField({ verifyMagicBytes: false }), named('a.png', 'x'))).toMatchObject({
      extension: 'png',
    })
    expect(await read(new ImageUploadField(), named('a.pdf'))).toBe('File extension "pdf" is not allowed.')
    expect(() => new ImageUploadField({ allowedExtensions: ['png', 'pdf'] })).toThrow(
      'ImageUploadField: has no signature for "pdf"; take it from allowedExtensions, or use FileUploadField',
    )
    expect(new ImageUploadField({ allowedExtensions: ['pdf'], verifyMagicBytes: false }).allowedExtensions).toEqual([
      'pdf',
    ])
  })

  it('[F5] checks size and extension before it looks into the file', async () => {
    const missing = (size: number, filename: string) =>
      new UploadedFile({ filename, mediaType: 'image/png', size, path: '/nowhere' })
    const field = new ImageUploadField({ maxSize: 5 })
    expect(await read(field, missing(6, 'a.png'))).toBe('File too large: at most 5 bytes.')
    expect(await read(field, missing(5, 'a.exe'))).toBe('File extension "exe" is not allowed.')
  })
})
