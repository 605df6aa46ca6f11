import { describe, expect, it } from 'vitest'
import type { Context } from '../../../lib/http/context.js'
import { CSVRenderer } from '../../../lib/renderers/csv-renderer.js'
import { JSONRenderer } from '../../../lib/renderers/json-renderers.js'
import { selectRenderer } from '../../../lib/renderers/renderer.js'

const renderers = [new JSONRenderer(), new CSVRenderer()]
const asking = (accept: string | undefined) => ({ headers: accept === undefined ? {} : { accept } }) as Context

describe('the renderer', () => {
  it.each([
    [undefined, 'json'],
    ['', 'json'],
    ['text/csv', 'csv'],
    ['TEXT/CSV', 'csv'],
    ['text/csv;q=0.1, application/json', 'json'],
    ['text/csv; q=0.1, application/json', 'json'],
    ['text/csv ; q = 0.1 , application/json', 'json'],
    ['application/json;q=0, text/csv', 'csv'],
    ['application/json;q=0, */*', 'csv'],
    ['application/json; q=0, */*', 'csv'],
    ['text/*', 'csv'],
    ['*/*', 'json'],
    ['application/json; version=2', 'json'],
    ['text/csv; version=2; q=0.9, application/json; q=0.8', 'csv'],
    ['text/csv; header=present;q=0.1, application/json;version="1,2"', 'json'],
    ['image/png', 'json'],
    ['application/problem+json', 'json'],
    [';;;,,,/,q=', 'json'],
    [`${'a'.repeat(9000)}`, 'json'],
    [`text/csv${';'.repeat(9000)}`, 'csv'],
    [`text/csv;${' '.repeat(9000)}q=1`, 'csv'],
    ['*/*;q=0', 'json'],
  ])('for Accept %j is %s', (accept, format) => {
    expect(selectRenderer(asking(accept), renderers).format).toBe(format)
  })

  it('is the one of the suffix, whatever Accept says', () => {
    expect(selectRenderer(asking('application/json'), renderers, { format: 'csv' }).format).toBe('csv')
    expect(selectRenderer(asking('text/csv'), renderers, { format: 'json', strict: true }).format).toBe('json')
  })

  it.each([
    ['image/png', false],
    ['application/json;q=0', false],
    [';;;,,,/,q=', false],
    ['application/json', true],
    ['*/*', true],
    [undefined, true],
  ])('for Accept %j is 406 when it is strict: %s', (accept, answers) => {
    const select = () => selectRenderer(asking(accept), [new JSONRenderer()], { strict: true })
    if (answers) expect(select().format).toBe('json')
    else expect(select).toThrow(expect.objectContaining({ status: 406, detail: 'Not acceptable' }))
  })
})
