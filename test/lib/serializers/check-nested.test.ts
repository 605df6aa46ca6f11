/** Extras of a join table beside the columns of related objects. */
import { Model } from 'objection'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  type DeclaredFields,
  modelSerializer,
  NestedSerializer,
  PrimaryKeyRelatedField,
  ReadOnlyField,
  SlugRelatedField,
} from '../../../lib/index.js'
import { describeTable } from '../../support/described.js'

class Tag extends Model {
  static override tableName = 'tags'
  declare id: number
  declare name: string
}

/** A model with the extras on its way to tags, and to one tag. */
function postWith(extra: string[] | Record<string, string>): typeof Model {
  class Post extends Model {
    static override tableName = 'posts'
    static override relationMappings = () => {
      const through = { from: 'links.post_id', to: 'links.tag_id', extra }
      const join = { from: 'posts.id', through, to: 'tags.id' }
      return {
        tags: { relation: Model.ManyToManyRelation, modelClass: Tag, join },
        first: { relation: Model.HasOneThroughRelation, modelClass: Tag, join },
      }
    }
  }
  describeTable(Post, { id: 'int4', title: 'text' })
  return Post
}

describe('An extra of a join table with the name of a column', () => {
  const TagSerializer = modelSerializer(Tag, { fields: ['id', 'name'] })
  const nested = { tags: new NestedSerializer(TagSerializer, { many: true, readOnly: true }) }
  const plan = (extra: string[] | Record<string, string>, declaredFields: DeclaredFields) =>
    modelSerializer(postWith(extra), { fields: ['id'] as never, declaredFields }).plan

  beforeAll(() => describeTable(Tag, { id: 'int4', name: 'text', position: 'int4?' }))

  it.each<[string, string[] | Record<string, string>, DeclaredFields]>([
    ['that a nested serializer shows', { name: 'label' }, nested],
    ['that is the key of what is nested', ['id'], nested],
    ['that is the key', ['id'], { tags: new PrimaryKeyRelatedField({ many: true, readOnly: true }) }],
    ['that is the slug', ['name'], { tags: new SlugRelatedField({ slugField: 'name', many: true, readOnly: true }) }],
    ['at the end of a source', ['name'], { word: new ReadOnlyField({ source: 'first.name' }) }],
  ])('is refused: one %s', (_, extra, fields) => {
    expect(() => plan(extra, fields)).toThrow(
      /^PostSerializer: field "(?:tags|word)": extra "(?:id|name)" of the relation "(?:tags|first)" has the name of a column of Tag, .*: extra: \{ link_/,
    )
  })

  it('may be there where no field shows that column', () => {
    expect(() => plan(['position'], nested)).not.toThrow()
    expect(() => plan({ label: 'name' }, nested)).not.toThrow()
  })
})
