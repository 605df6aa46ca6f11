/** `koa-viewsets openapi`: the document of an API, for typed clients and other tools. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { SchemaOptions } from '../openapi/document.js'
import { type Command, givenText, type Values } from './command.js'
import { loadApi, MODULE_HELP, prepare } from './load-api.js'

export const openapi: Command = {
  summary: 'write the OpenAPI document of a router',
  positionals: '<module>',
  help: [
    ...MODULE_HELP,
    ['--output <file>', 'the file to write (else stdout)'],
    ['--title <text>', 'the title of the API'],
    ['--api-version <text>', 'the version of the API, in the head of the document'],
    ['--description <text>', 'what the API is for'],
    ['--license <identifier>', 'its licence by SPDX, such as MIT'],
    ['--unprepared', 'ask no database: describe what the models themselves declare'],
  ],
  options: {
    export: { type: 'string' },
    output: { type: 'string' },
    title: { type: 'string' },
    'api-version': { type: 'string' },
    description: { type: 'string' },
    license: { type: 'string' },
    unprepared: { type: 'boolean' },
  },
  async run(values, { stdout, stderr }, positionals) {
    const api = await loadApi(positionals, givenText(values, 'export'))
    if (values['unprepared'] !== true) await prepare(api, '; --unprepared does without')
    const document = `${JSON.stringify(api.getSchema(infoOf(values)), null, 2)}\n`
    const output = givenText(values, 'output')
    if (output === undefined) {
      stdout.write(document)
      return
    }
    await mkdir(dirname(output), { recursive: true })
    await writeFile(output, document)
    stderr.write(`${output} written\n`)
  },
}

function infoOf(values: Values): SchemaOptions {
  const title = givenText(values, 'title')
  const version = givenText(values, 'api-version')
  const description = givenText(values, 'description')
  const license = givenText(values, 'license')
  return {
    ...(title !== undefined && { title }),
    ...(version !== undefined && { version }),
    ...(description !== undefined && { description }),
    ...(license !== undefined && { license: { name: license, identifier: license } }),
  }
}
