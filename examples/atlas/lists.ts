/** Travel lists: whose they are, what is on them, and photos of the cities. */
import {
  type Authentications,
  action,
  BasePermission,
  BulkModelViewSet,
  type Context,
  CurrentUserDefault,
  DateField,
  FieldFilter,
  HiddenField,
  IDMixin,
  ImageUploadField,
  type Input,
  IsAdminUser,
  IsAuthenticatedOrReadOnly,
  MeteringMixin,
  ModelSerializer,
  ModelViewSet,
  NestedViewSetMixin,
  ObjectPermission,
  OrderingFilter,
  or,
  PageNumberPagination,
  type Permissions,
  Serializer,
} from 'koa-viewsets'
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
  declare visibility: string
  declare published_on: string | null
  declare updated_at: Date

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
}

class ListSerializer extends ModelSerializer<List> {
  static override model = List
  static override fields = ['id', 'title', 'visibility', 'notes', 'published_on', 'created_at', 'updated_at']
  static override readOnlyFields = ['published_on', 'created_at', 'updated_at']
  static override extraKwargs = { title: { minLength: 2 }, visibility: { choices: ['private', 'public'] } }
  static override declaredFields = { owner_id: new HiddenField({ default: new CurrentUserDefault() }) }
}

class EntrySerializer extends ModelSerializer<Entry> {
  static override model = Entry
  static override fields = ['id', 'city_id', 'day', 'budget', 'note']
}

class PhotoSerializer extends ModelSerializer<Photo> {
  static override model = Photo
  static override fields = ['id', 'city_id', 'caption', 'image', 'created_at']
  static override readOnlyFields = ['created_at']
  static override declaredFields = {
    image: new ImageUploadField({ storage: photoStorage, maxSize: 5 * 1024 * 1024 }),
    owner_id: new HiddenField({ default: new CurrentUserDefault() }),
  }
}

class PublishInput extends Serializer {
  static override declaredFields = { published_on: new DateField() }
}

/** Who sees an object may read it. */
class IsReading extends BasePermission {
  override hasPermission({ method }: Context): boolean {
    return ['GET', 'HEAD', 'OPTIONS'].includes(method)
  }
}

/** Anybody reads what is shown to them; owners and staff write. */
const ownersWrite: Permissions = [IsAuthenticatedOrReadOnly, or(IsReading, IsAdminUser, ObjectPermission)]

export class ListViewSet extends MeteringMixin(ModelViewSet<List>) {
  static override description = 'Travel lists: the public ones, and your own.'
  static override model = List
  static override serializerClass = ListSerializer
  static override authenticationClasses = schemes
  static override permissionClasses = ownersWrite
  static override paginationClass = PageNumberPagination
  static override filterBackends = [FieldFilter, OrderingFilter]
  static override filtersetFields = ['visibility', 'title', 'published_on']
  static override orderingFields = ['title', 'created_at']
  static override ordering = ['-created_at']
  static override concurrency = 'updated_at'

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
    return list.$query(this.trx).patch({ deleted_at: new Date().toISOString() } as object)
  }

  /** Shows a list to everybody, from a day on. */
  @action({ methods: ['POST'], detail: true, inputSerializer: PublishInput, outputSerializer: ListSerializer })
  async publish({ published_on }: Input<typeof PublishInput>) {
    const list = await this.getObjectToWrite()
    await list.$query(this.trx).patch({ visibility: 'public', published_on })
    return this.getSerializer({ obj: await this.getObject() }).data
  }

  /** The newest lists. */
  @action({ methods: ['GET'], outputSerializer: [ListSerializer] })
  async recent() {
    const lists = await this.getQueryset().orderBy('created_at', 'desc').limit(MOST_RECENT)
    return this.getSerializer({ obj: lists, many: true }).data
  }
}

export class EntryViewSet extends NestedViewSetMixin(BulkModelViewSet<Entry>) {
  static override description = 'The cities on a list.'
  static override model = Entry
  static override serializerClass = EntrySerializer
  static override authenticationClasses: Authentications = schemes
  static override permissionClasses: Permissions = [IsAuthenticatedOrReadOnly]
  static override paginationClass = PageNumberPagination
  static override ordering = ['day']
  static override parentLookupField = 'list_id'
}

export class PhotoViewSet extends ModelViewSet<Photo> {
  static override description = 'Photos of cities.'
  static override model = Photo
  static override serializerClass = PhotoSerializer
  static override authenticationClasses = schemes
  static override permissionClasses = ownersWrite
  static override paginationClass = PageNumberPagination
  static override filterBackends = [FieldFilter]
  static override filtersetFields = ['city_id']
}
