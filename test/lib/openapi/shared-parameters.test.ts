/** What several operations have is said once, by a name that no other has. */
import { expect, it } from 'vitest'
import { atOnce } from '../../../lib/kernel/turns.js'
import { shareParameters } from '../../../lib/openapi/shared-parameters.js'
import type { Operation, Parameter } from '../../../lib/openapi/types.js'

const asked = (description: string, name = 'order by'): Parameter => ({ name, in: 'query', description, schema: {} })
const operation = (...parameters: Parameter[]) =>
  ({ tags: ['a list'], parameters, responses: {} }) as unknown as Operation
const shared = (...all: Operation[]) =>
  atOnce(shareParameters(new Map(all.map((get, index) => [`/${index}`, { get }]))))

it('gives parameters of one name the names of their resources, and numbers', () => {
  const texts = ['most', 'most', 'most', 'second', 'second', 'third', 'third', 'fourth', 'fourth', 'once']
  const { paths, parameters } = shared(...texts.map((text) => operation(asked(text))))
  expect(Object.entries(parameters).map(([name, { description }]) => [name, description])).toEqual([
    ['order_by', 'most'],
    ['order_by_of_a_list', 'second'],
    ['order_by_of_a_list_2', 'third'],
    ['order_by_of_a_list_3', 'fourth'],
  ])
  expect(paths.get('/7')?.['get']?.parameters).toEqual([{ $ref: '#/components/parameters/order_by_of_a_list_3' }])
  expect(paths.get('/9')?.['get']?.parameters).toEqual([asked('once')])
})

it('leaves what stands in paths, and references, where they are', () => {
  const place: Parameter = { name: 'id', in: 'path', required: true, schema: {} }
  const reference = { $ref: '#/components/parameters/other' } as unknown as Parameter
  const { paths, parameters } = shared(operation(place, reference), operation(place, reference))
  expect(parameters).toEqual({})
  expect(paths.get('/1')?.['get']?.parameters).toEqual([place, reference])
})
