/** All files of an application. */
import type { DescribedModel, DescribedSchema } from '../schema/describe-schema.js'
import { quoted } from '../schema/source-text.js'
import { apiFiles } from './api-file.js'
import type { SourceFile } from './header.js'
import { enumsFile, modelFile } from './model-file.js'
import { describeResource, type Resource } from './resource.js'
import { serializerFile } from './serializer-file.js'
import { authenticationFile, mainFile } from './start-files.js'
import { viewFile } from './view-file.js'

export interface ApplicationFiles {
  readonly files: readonly SourceFile[]
  /** What clients cannot do, and why: sentences. */
  readonly notes: readonly string[]
}

export function applicationFiles({ models, enums }: DescribedSchema): ApplicationFiles {
  const shown = models.filter(({ isJoinTable, properties }) => !isJoinTable && properties.length > 0)
  const byTable = new Map(shown.map((model) => [model.table, model]))
  const resources = shown.map((model) => describeResource(model, byTable))
  const files = [
    ...(enums.length > 0 ? [enumsFile(enums)] : []),
    ...resources.flatMap((resource) => [modelFile(resource), serializerFile(resource), viewFile(resource)]),
    authenticationFile(),
    ...apiFiles(resources),
    mainFile(),
  ]
  return {
    files,
    notes: [...models.filter((model) => !shown.includes(model)).map(joinNote), ...resources.flatMap(notesOf)],
  }
}

function joinNote({ table, isJoinTable }: DescribedModel): string {
  return isJoinTable
    ? `${quoted(table.name)} has no route of its own: it joins two tables, which have relations through it`
    : `${quoted(table.name)} is left out: no column of it can be mapped`
}

function notesOf({ model, limit, secrets, privileges, demanded }: Resource): readonly string[] {
  const name = quoted(model.table.name)
  return [
    ...(limit === undefined ? [] : [`${name}: ${limit}`]),
    ...secrets.map((secret) => `the column ${quoted(secret)} of ${name} sounds like a secret: no client sees it`),
    ...privileges.map((one) => `the column ${quoted(one)} of ${name} says who may do more: no client writes it`),
    ...(demanded.length > 0
      ? [`${name}: clients cannot create objects, until performCreate() gives ${demanded.map(quoted).join(', ')}`]
      : []),
  ]
}
