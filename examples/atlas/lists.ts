/** Travel lists: whose they are, what is on them, and photos of the cities. */
import {
  BasePermission,
  bulkModelViewSet,
  type Context,
  CurrentUserDefault,
  DateField,
  FieldFilter,
  type Generated,
  HiddenField,
  IDMixin,
  ImageUploadField,
  IsAdminUser,
  IsAuthenticatedOrReadOnly,
  listAction,
  modelSerializer,
  modelViewSet,
  NestedViewSetMixin,
  ObjectPermission,
  OrderingFilter,
  objectAction,
  or,
  PageNumberPagination,
  type Permissions,
} from 'koa-viewsets'
import { ChangeStreamMixin, type Changes, ChangesMixin } from 'koa-viewsets/changes'
import { MeteringMixin } from 'koa-viewsets/metering'
import { Model } from 'objection'
import { City } from './models.js'
import { photoStorage } from './photos.js'
import { schemes, type User } from './users.js'

const MOST_RECENT = 5

/** A travel list. Clients never see its number: its id is signed. */
export class List extends IDMixin(Model) {
  static override tableName = 'lists'
  static override idConfig = {
    mode: 'signed',
    alphabet: 'mn7swcxDfgkGrBtv4qj6phd3b952CzF8',
    // a fixed value, because this is a demo on one machine
    hmacKeys: ['the lists of the atlas hide nothing'],
  } as const

  declare id: number
  declare owner_id: number
  declare title: string
  declare visibility: Generated<'private' | 'public'>
  declare notes: Generated<string>
  declare published_on: string | null
  declare created_at: Generated<Date>
  declare updated_at: Generated<Date>
  declare deleted_at: Date | null

  override $beforeUpdate(): void {
    this.updated_at = new Date()
  }
}

/** A city on a list: when, and for how much. */
export class Entry extends Model {
  static override tableName = 'entries'

  static override relationMappings = () => ({
    list: {
      relation: Model.BelongsToOneRelation,
      modelClass: List,
      join: { from: 'entries.list_id', to: 'lists.id' },
    },
    city: {
      relation: Model.BelongsToOneRelation,
      modelClass: City,
      join: { from: 'entries.city_id', to: 'cities.id' },
    },
  })

  declare id: number | string
  declare list_id: number
  declare city_id: number
  declare day: string
  declare budget: string | null
  declare note: Generated<string>
  declare list?: List
  declare city?: City
}

/** A photo of a city. */
export class Photo extends Model {
  static override tableName = 'photos'

  static override relationMappings = () => ({
    city: {
      relation: Model.BelongsToOneRelation,
      modelClass: City,
      join: { from: 'photos.city_id', to: 'cities.id' },
    },
  })

  declare id: number
  declare owner_id: number
  declare city_id: number
  declare caption: Generated<string>
  declare image: string
  declare created_at: Generated<Date>
  declare city?: City
}

class ListSerializer extends modelSerializer(List, {
  fields: ['id', 'title', 'visibility', 'notes', 'published_on', 'created_at', 'updated_at'],
  readOnlyFields: ['published_on', 'created_at', 'updated_at'],
  extraKwargs: { title: { minLength: 2 }, visibility: { choices: ['private', 'public'] } },
  declaredFields: { owner_id: new HiddenField({ default: new CurrentUserDefault() }) },
}) {}

class EntrySerializer extends modelSerializer(Entry, { fields: ['id', 'city_id', 'day', 'budget', 'note'] }) {}

class PhotoSerializer extends modelSerializer(Photo, {
  fields: ['id', 'city_id', 'caption', 'image', 'created_at'],
  readOnlyFields: ['created_at'],
  declaredFields: {
    image: new ImageUploadField({ storage: photoStorage, maxSize: 5 * 1024 * 1024 }),
    owner_id: new HiddenField({ default: new CurrentUserDefault() }),
  },
}) {}

/** Who sees an object may read it. */
class IsReading extends BasePermission {
  override hasPermission({ method }: Context): boolean {
    return ['GET', 'HEAD', 'OPTIONS'].includes(method)
  }
}

/** Anybody reads what is shown to them; owners and staff write. */
const ownersWrite: Permissions = [IsAuthenticatedOrReadOnly, or(IsReading, IsAdminUser, ObjectPermission)]

/** Shows a list to everybody, from a day on. */
const publish = objectAction(
  { methods: ['POST'], input: { published_on: new DateField() }, output: ListSerializer },
  async function (list: List, { published_on }) {
    await list.$query(this.trx).patch({ visibility: 'public', published_on })
    return this.getSerializer({ obj: await this.getObject() }).data
  },
)

/** The newest lists. */
const recent = listAction({ methods: ['GET'], output: [ListSerializer] }, async function () {
  const lists = await this.getQueryset().orderBy('created_at', 'desc').limit(MOST_RECENT)
  return this.getSerializer({ obj: lists, many: true }).data
})

export class ListViewSet extends modelViewSet(List, {
  description: 'Travel lists: the public ones, and your own.',
  serializerClass: ListSerializer,
  authenticationClasses: schemes,
  permissionClasses: ownersWrite,
  paginationClass: PageNumberPagination,
  filterBackends: [FieldFilter, OrderingFilter],
  filtersetFields: ['visibility', 'title', 'published_on'],
  orderingFields: ['title', 'created_at'],
  ordering: ['-created_at'],
  concurrency: 'updated_at',
  mixins: [MeteringMixin, ChangesMixin, ChangeStreamMixin],
  actions: { publish, recent },
}) {
  static changes: Changes = { visibleBy: ['deleted_at'] }

  override getQueryset() {
    const user = this.ctx.state['user'] as User | undefined
    const lists = super.getQueryset().whereNull('lists.deleted_at')
    if (user?.is_staff) return lists
    return lists.where((query) => {
      void query.where('lists.visibility', 'public')
      if (user) void query.orWhere('lists.owner_id', user.id)
    })
  }

  /** A list is hidden, not deleted. */
  override async performDestroy(list: List) {
    return list.$query(this.trx).patch({ deleted_at: new Date() })
  }
}

export class EntryViewSet extends bulkModelViewSet(Entry, {
  description: 'The cities on a list.',
  serializerClass: EntrySerializer,
  authenticationClasses: schemes,
  permissionClasses: [IsAuthenticatedOrReadOnly],
  paginationClass: PageNumberPagination,
  ordering: ['day'],
  mixins: [NestedViewSetMixin],
  parentLookupField: 'list_id',
}) {}

export class PhotoViewSet extends modelViewSet(Photo, {
  description: 'Photos of cities.',
  serializerClass: PhotoSerializer,
  authenticationClasses: schemes,
  permissionClasses: ownersWrite,
  paginationClass: PageNumberPagination,
  filterBackends: [FieldFilter],
  filtersetFields: ['city_id'],
}) {}
