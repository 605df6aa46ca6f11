/** What an application may declare wrongly, and what it is told at register() or prepare(): never by a request, never not at all. */
import knex from 'knex'
import { Model, snakeCaseMappers } from 'objection'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { parseLookup } from '../../lib/fields/object-key.js'
import {
  AnonRateThrottle,
  APIRouter,
  ArrayField,
  action,
  BaseAuthentication,
  BaseFilter,
  BasePermission,
  BaseThrottle,
  BooleanField,
  BulkModelViewSet,
  CacheableMixin,
  ChoiceField,
  ConfigurationError,
  CSVRenderer,
  CursorPagination,
  DateTimeField,
  FieldFilter,
  FileUploadField,
  GenericViewSet,
  HeaderVersioning,
  HiddenField,
  IntegerField,
  JSONRenderer,
  LimitOffsetPagination,
  ListMixin,
  ModelPermission,
  ModelSerializer,
  ModelViewSet,
  NestedRouter,
  NestedSerializer,
  ObjectPermission,
  OrderingFilter,
  PageNumberPagination,
  PrimaryKeyRelatedField,
  ReadOnlyField,
  ScopedRateThrottle,
  SearchFilter,
  Serializer,
  SerializerField,
  SerializerMethodField,
  ServerCursorPagination,
  SessionAuthentication,
  SlugRelatedField,
  StreamMixin,
  StringField,
  TokenAuthentication,
  UserRateThrottle,
  ValidationError,
  ViewSet,
} from '../../lib/index.js'
import { describeModel } from '../../lib/models/describe-model.js'
import { checkSerializer } from '../../lib/serializers/check-serializer.js'
import { DatabaseUserThrottle } from '../../lib/throttling/index.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { serveRouter } from '../support/views.js'

const SCHEMA = `
  create type street as (name text, number int);
  create table people (
    id int generated always as identity primary key,
    name text not null,
    tags text[] not null default '{}',
    facts json,
    more jsonb,
    place point,
    paths jsonpath[],
    home street,
    is_admin boolean not null default false,
    boss_id int references people
  );
  insert into people (name) values ('Ada');
`

class Person extends Model {
  static override tableName = 'people'
  static override relationMappings = () => ({
    boss: {
      relation: Model.BelongsToOneRelation,
      modelClass: Person,
      join: { from: 'people.boss_id', to: 'people.id' },
    },
  })
}

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase({ schema: SCHEMA })
  Person.knex(database.knex)
  Named.knex(database.knex)
  process.env['SERVICE_SECRET_KEY'] ??= 'a secret of more than sixteen characters'
})
afterAll(() => database.drop())

class Other extends Model {
  static override tableName = 'others'
}
class OtherSerializer extends ModelSerializer {
  static override model = Other
  static override fields = '__all__' as const
}

class Kept extends Person {
  static override tableName = 'kept'
}
class KeptSerializer extends ModelSerializer {
  static override model = Kept
  static override fields = '__all__' as const
}

/** The same people, by names of their columns in camel case. */
class Named extends Model {
  static override tableName = 'people'
  static override columnNameMappers = snakeCaseMappers()
}
class NamedSerializer extends ModelSerializer {
  static override model = Named
  static override fields = ['id', 'isAdmin']
}

/** A serializer with these statics and methods, whatever their types. */
function serializerWith(statics: object, methods: object = {}): any {
  class People extends ModelSerializer {
    static override model = Person
    static override fields: any = ['id', 'name', 'is_admin']
  }
  Object.assign(People.prototype, methods)
  return define(People, statics)
}

/** A view set with these statics and methods, whatever their types. */
function viewWith(statics: object, methods: object = {}, base: any = ModelViewSet): any {
  class PersonViewSet extends base {
    static model = Person
    static serializerClass = serializerWith({})
  }
  for (const [name, value] of Object.entries(methods)) {
    Object.defineProperty(PersonViewSet.prototype, name, { value, configurable: true })
  }
  return define(PersonViewSet, statics)
}

function define<Class extends object>(made: Class, statics: object): Class {
  for (const [name, value] of Object.entries(statics)) {
    Object.defineProperty(made, name, { value, configurable: true, enumerable: true })
  }
  return made
}

/** What register() says. */
function registered(view: any): () => unknown {
  return () => new APIRouter().register('people', view, 'person')
}

/** What prepare() says, of a view that register() has taken. */
async function prepared(view: any): Promise<void> {
  await new APIRouter().register('people', view, 'person').prepare()
}

type Row = [mistake: string, view: () => any, message: string]

const serialized = (statics: object, methods?: object) => () =>
  viewWith({ serializerClass: serializerWith(statics, methods) })
const declared = (declaredFields: object, methods?: object) => serialized({ declaredFields }, methods)
const option = (field: unknown) => declared({ name: field })
const loose = (options: unknown): any => options

class Wrong extends BasePermission {
  has_permission() {
    return false
  }
}
class Typo extends BasePermission {
  hasPermision() {
    return false
  }
}
class Filter extends BaseFilter {
  filterQuerySet(query: unknown) {
    return query
  }
}
class Scheme extends BaseAuthentication {
  authenticate() {
    return null
  }
  get challange() {
    return 'x'
  }
}
class Address extends AnonRateThrottle {
  getCachekey() {
    return null
  }
}

const STATICS: Row[] = [
  [
    'a filter field that is no list',
    () => viewWith({ filtersetFields: 'name' }),
    'static filtersetFields is "name"; give a list of names',
  ],
  [
    'a search field that is no list',
    () => viewWith({ searchFields: 'name' }),
    'static searchFields is "name"; give a list of names',
  ],
  [
    'an ordering field that is no list',
    () => viewWith({ orderingFields: 'name' }),
    'static orderingFields is "name"; give a list of names',
  ],
  [
    'an order that is no list',
    () => viewWith({ ordering: '-name' }),
    'static ordering is "-name"; give a list of names',
  ],
  ['an order of something else', () => viewWith({ ordering: [1] }), 'static ordering is [1]; give a list of names'],
  ['a lookupField that is no name', () => viewWith({ lookupField: null }), 'static lookupField is null; give a name'],
  [
    'a lookupUrlKwarg that is no name',
    () => viewWith({ lookupUrlKwarg: 7 }),
    'static lookupUrlKwarg is 7; give a name, or null',
  ],
  ['atomic as a text', () => viewWith({ atomic: 'false' }), 'static atomic is "false"; give true or false'],
  ['strictAccept as a number', () => viewWith({ strictAccept: 1 }), 'static strictAccept is 1; give true or false'],
  [
    'strictParams as a text',
    () => viewWith({ strictParams: 'yes' }),
    'static strictParams is "yes"; give true or false',
  ],
  [
    'useNativeJson as null',
    () => viewWith({ useNativeJson: null }),
    'static useNativeJson is null; give true or false',
  ],
  [
    'requireIfMatch as a text',
    () => viewWith({ requireIfMatch: 'no' }),
    'static requireIfMatch is "no"; give true or false',
  ],
  [
    'concurrency that is no column',
    () => viewWith({ concurrency: true }),
    'static concurrency is true; give a name, a list of names, or null',
  ],
  ['expandable as a list', () => viewWith({ expandable: ['boss'] }), 'static expandable is ["boss"]; give an object'],
  [
    'something else to expand',
    () => viewWith({ expandable: { boss: Person } }),
    'static expandable["boss"] is no serializer class',
  ],
  [
    'a serializer of another model',
    () => viewWith({ serializerClass: OtherSerializer }),
    'static serializerClass is OtherSerializer, of Other, and the view set is of Person; name a serializer of Person',
  ],
  [
    'a serializer of a model that extends it, of another table',
    () => viewWith({ serializerClass: KeptSerializer }),
    'static serializerClass is KeptSerializer, of Kept, and the view set is of Person; name a serializer of Person',
  ],
  [
    'a serializer of another model, of an action',
    () => viewWith({}, { hire: action({ methods: ['POST'], serializerClass: OtherSerializer })(function hire() {}) }),
    'hire: serializerClass is OtherSerializer, of Other, and the view set is of Person; name a serializer of Person',
  ],
  [
    'a renderer without a Content-Type',
    () => viewWith({ rendererClasses: [Object.assign(new JSONRenderer(), { contentType: undefined })] }),
    'PersonViewSet.rendererClasses[0]: JSONRenderer: contentType is undefined; give a name',
  ],
  [
    'a parser without media types',
    () =>
      viewWith({
        parserClasses: [
          class Plain {
            parse() {}
          },
        ],
      }),
    'PersonViewSet.parserClasses[0]: Plain: mediaTypes is undefined; give a list of media types, in lower case',
  ],
  ...['Text/X', 'text/x; charset=utf-8', 'yaml', undefined].map((type): [string, () => unknown, string] => [
    `a parser of a media type that no request has: ${type}`,
    () => viewWith({ parserClasses: [{ mediaTypes: [type].filter(Boolean), parse() {} }] }),
    `Object: mediaTypes is ${JSON.stringify([type].filter(Boolean))}; give a list of media types, in lower case`,
  ]),
  ['responses as a list', () => viewWith({ responses: [409] }), 'static responses is [409]; give an object'],
  ['a description of no text', () => viewWith({ description: 7 }), 'static description is 7; give a text'],
  ['searchParam as null', () => viewWith({ searchParam: null }), 'static searchParam is null; give a name'],
  ['searchConfig as null', () => viewWith({ searchConfig: null }), 'static searchConfig is null; give a name'],
  ['an unknown searchType', () => viewWith({ searchType: 'fuzzy' }), 'searchType "fuzzy" is unknown'],
  [
    'queryParameters as an object',
    () => viewWith({ queryParameters: {} }),
    'static queryParameters is {}; give a list',
  ],
  [
    'a bulk size of none',
    () => viewWith({ maxBulkSize: '5' }, {}, BulkModelViewSet),
    'static maxBulkSize is "5"; give a whole number of at least 1',
  ],
  [
    'a cache for all as a text',
    () => viewWith({ cachePrivate: 'false' }, {}, CacheableMixin(ModelViewSet)),
    'static cachePrivate is "false"; give true or false',
  ],
  [
    'a permission that is in no list',
    () => viewWith({ permissionClasses: ModelPermission }),
    'permissionClasses: give a list',
  ],
  ['no metadata', () => viewWith({ metadataClass: undefined }), 'metadataClass: has no method determineMetadata()'],
  [
    'a function as a permission',
    () => viewWith({ permissionClasses: [() => true] }),
    'permissionClasses[0]: has no method hasPermission()',
  ],
  [
    'middleware as authentication',
    () => viewWith({ authenticationClasses: [async () => null] }),
    'authenticationClasses[0]: has no method authenticate()',
  ],
  [
    'a model of no table',
    () => viewWith({ model: class Nothing extends Model {} }),
    'PersonViewSet: its model Nothing is of no table; set static tableName of the model',
  ],
]

const SPELLING: Row[] = [
  [
    'permission_classes',
    () => viewWith({ permission_classes: [Wrong] }),
    'PersonViewSet: nobody reads static permission_classes; did you mean permissionClasses?',
  ],
  [
    'permisionClasses',
    () => viewWith({ permisionClasses: [Wrong] }),
    'PersonViewSet: nobody reads static permisionClasses; did you mean permissionClasses?',
  ],
  [
    'permissionClass',
    () => viewWith({ permissionClass: [Wrong] }),
    'nobody reads static permissionClass; did you mean permissionClasses?',
  ],
  ['authenticationClases', () => viewWith({ authenticationClases: [] }), 'did you mean authenticationClasses?'],
  ['throttleClass', () => viewWith({ throttleClass: [] }), 'did you mean throttleClasses?'],
  ['filterSetFields', () => viewWith({ filterSetFields: [] }), 'did you mean filtersetFields?'],
  ['lookup_field', () => viewWith({ lookup_field: 'name' }), 'did you mean lookupField?'],
  [
    'cacheMaxAge without its mixin',
    () => viewWith({ cacheMaxAge: 60 }),
    'static cacheMaxAge is read by CacheableMixin only; extend it',
  ],
  [
    'streamFormats without its mixin',
    () => viewWith({ streamFormats: ['csv'] }),
    'static streamFormats is read by StreamMixin only; extend it',
  ],
  [
    'getQuerySet()',
    () => viewWith({}, { getQuerySet: () => null }),
    'PersonViewSet: nobody calls getQuerySet(); did you mean getQueryset()?',
  ],
  ['get_queryset()', () => viewWith({}, { get_queryset: () => null }), 'did you mean getQueryset()?'],
  ['perform_create()', () => viewWith({}, { perform_create: () => null }), 'did you mean performCreate()?'],
  [
    'performDelete() is none of ours',
    () => viewWith({ permissionsClasses: [] }, { performDelete: () => null }),
    'did you mean permissionClasses?',
  ],
  [
    'has_permission()',
    () => viewWith({ permissionClasses: [Wrong] }),
    'PersonViewSet.permissionClasses[0]: Wrong: nobody calls has_permission(); did you mean hasPermission()?',
  ],
  [
    'hasPermision()',
    () => viewWith({ permissionClasses: [Typo] }),
    'Typo: nobody calls hasPermision(); did you mean hasPermission()?',
  ],
  [
    'filterQuerySet()',
    () => viewWith({ filterBackends: [Filter] }),
    'Filter: nobody calls filterQuerySet(); did you mean filterQueryset()?',
  ],
  [
    'page_size of a paginator',
    () =>
      viewWith({
        paginationClass: class Small extends PageNumberPagination {
          page_size = 2
        },
      }),
    'PersonViewSet.paginationClass: Small: nobody reads page_size; write pageSize = …',
  ],
  [
    'a static rate, which would limit nobody',
    () =>
      viewWith({
        throttleClasses: [
          class Burst extends AnonRateThrottle {
            static rate = '1/minute'
          },
        ],
      }),
    'PersonViewSet.throttleClasses[0]: Burst: nobody reads static rate; write rate = …',
  ],
  [
    'a rate that a getter gives, before which stands the property',
    () => {
      class Burst extends AnonRateThrottle {}
      Object.defineProperty(Burst.prototype, 'rate', { get: () => '1/minute' })
      return viewWith({ throttleClasses: [Burst] })
    },
    'PersonViewSet.throttleClasses[0]: Burst: nobody asks for rate(); write rate = …',
  ],
  [
    'getCachekey()',
    () => viewWith({ throttleClasses: [Address] }),
    'Address: nobody calls getCachekey(); did you mean getCacheKey()?',
  ],
  [
    'getPermissions(), which nobody would ask',
    () => viewWith({}, { getPermissions: () => [Wrong] }),
    'PersonViewSet: getPermissions means nothing here; set static permissionClasses',
  ],
  [
    'checkPermissions(), which nobody would call',
    () => viewWith({}, { checkPermissions: () => false }),
    'PersonViewSet: checkPermissions means nothing here; set static permissionClasses',
  ],
  [
    'allowRequest() of a throttle',
    () =>
      viewWith({
        throttleClasses: [
          class Nightly extends AnonRateThrottle {
            allowRequest = 1
            allow_request() {}
          },
        ],
      }),
    'PersonViewSet.throttleClasses[0]: Nightly: allow_request means nothing here; override check(ctx, view), or rename it',
  ],
  [
    'getPaginatedResponse() of a paginator',
    () =>
      viewWith({
        paginationClass: class Enveloped extends PageNumberPagination {
          getPaginatedResponse() {}
        },
      }),
    'PersonViewSet.paginationClass: Enveloped: getPaginatedResponse means nothing here; override paginate(source, request)',
  ],
  [
    'authenticateHeader() of a scheme',
    () =>
      viewWith({
        authenticationClasses: [
          class Signed extends TokenAuthentication {
            authenticateHeader() {}
          },
        ],
      }),
    'Signed: authenticateHeader means nothing here; set challenge',
  ],
  [
    'getAttribute() of a field',
    declared({
      x: new (class Loud extends StringField {
        getAttribute() {}
      })(),
    }),
    'Loud: getAttribute means nothing here; give the option source',
  ],
  ['get_permissions()', () => viewWith({}, { get_permissions: () => [Wrong] }), 'set static permissionClasses'],
  ['http_method_names', () => viewWith({ http_method_names: ['get'] }), 'set static withoutActions'],
  ['filtersetClass', () => viewWith({ filtersetClass: Wrong }), 'set static filtersetFields'],
  ['exclude', serialized({ fields: '__all__', exclude: ['is_admin'] }), 'People: exclude means nothing here; name the'],
  [
    'toInternalValue() of a serializer',
    () => {
      class Checked extends ModelSerializer<Person> {
        static override model = Person
        static override fields = ['name']
        toInternalValue(value: unknown) {
          return value
        }
      }
      return viewWith({ serializerClass: Checked })
    },
    'Checked: toInternalValue means nothing here; write validate(data)',
  ],
  [
    'read_only_fields',
    serialized({ read_only_fields: ['is_admin'] }),
    'People: nobody reads static read_only_fields; did you mean readOnlyFields?',
  ],
  ['readOnlyField', serialized({ readOnlyField: ['is_admin'] }), 'did you mean readOnlyFields?'],
  ['extra_kwargs', serialized({ extra_kwargs: {} }), 'did you mean extraKwargs?'],
  ['declaredField', serialized({ declaredField: {} }), 'did you mean declaredFields?'],
]

const SERIALIZERS: Row[] = [
  [
    'read-only fields as a text',
    serialized({ readOnlyFields: 'is_admin' }),
    'People: static readOnlyFields is "is_admin"; give a list of names',
  ],
  [
    'an unknown read-only field',
    serialized({ readOnlyFields: ['is_amin'] }),
    'People: readOnlyFields names no field "is_amin"',
  ],
  ['extraKwargs as a list', serialized({ extraKwargs: ['name'] }), 'static extraKwargs is ["name"]; give an object'],
  ['options that are none', serialized({ extraKwargs: { name: true } }), 'extraKwargs.name: the options are no object'],
  [
    'an option of another kind',
    serialized({ extraKwargs: { name: { readOnly: 'true' } } }),
    'extraKwargs.name: readOnly is "true"; give true or false',
  ],
  [
    'an unknown option',
    serialized({ extraKwargs: { name: { read_only: true } } }),
    'extraKwargs.name: has no option "read_only"; did you mean "readOnly"?',
  ],
  [
    'fields that are no list',
    serialized({ fields: { id: true } }),
    `static fields is {"id":true}; give a list of names, or '__all__'`,
  ],
  ['a depth of half', serialized({ depth: 0.5 }), 'static depth is 0.5; give a whole number of at least 0'],
  ['a model that is none', serialized({ model: {} }), 'People: set static model to an Objection model'],
  ['declared fields as a list', declared([new StringField()] as object), 'People: static declaredFields is'],
  ['a schemaName that is none', serialized({ schemaName: 7 }), 'static schemaName is 7; give a name, or null'],
  [
    'fields of a serializer that has no model',
    () => viewWith({ serializerClass: define(class Input extends Serializer {}, { readOnlyFields: ['a'] }) }),
    'Input: static readOnlyFields is read by ModelSerializer only; extend it',
  ],
  [
    'a method that is missing',
    declared({ title: new SerializerMethodField() }),
    'People: field "title" is a SerializerMethodField without its method; add getTitle(object), or set methodName',
  ],
  [
    'the method of a nested field',
    declared({
      boss: new NestedSerializer(serializerWith({ declaredFields: { title: new SerializerMethodField() } }), {
        readOnly: true,
      }),
    }),
    'add getTitle(object)',
  ],
  [
    'a hidden field that is read-only',
    serialized({ declaredFields: { boss_id: new HiddenField({ default: 1 }) }, readOnlyFields: ['boss_id'] }),
    'readOnlyFields names "boss_id", a HiddenField',
  ],
  [
    'asynchronous output',
    () => {
      class Delayed extends ModelSerializer<Person> {
        static override model = Person
        static override fields = ['name']
        override async toRepresentation(person: Person) {
          return super.toRepresentation(person)
        }
      }
      return viewWith({ serializerClass: Delayed })
    },
    'Delayed: toRepresentation() is asynchronous',
  ],
  [
    'a field that is only written, and read-only',
    serialized({ declaredFields: { name: new StringField({ writeOnly: true }) }, readOnlyFields: ['name'] }),
    'readOnlyFields names "name", which is writeOnly',
  ],
  [
    'no serializer in a nested field',
    declared({ boss: new NestedSerializer(loose(Person)) }),
    'declaredFields.boss: NestedSerializer has no serializer class',
  ],
]

class Shouted extends SerializerField {
  to_internal_value(value: unknown) {
    return value
  }
}
class Later extends SerializerField {
  override async toRepresentation(value: unknown) {
    return value
  }
}

const FIELDS: Row[] = [
  [
    'to_internal_value()',
    option(new Shouted()),
    'Shouted: nobody calls to_internal_value(); did you mean toInternalValue()?',
  ],
  ['asynchronous output', option(new Later()), 'declaredFields.name: Later: toRepresentation() is asynchronous'],
  [
    'StringField',
    option(new StringField(loose({ maxLenght: 3 }))),
    'People: declaredFields.name: StringField: has no option "maxLenght"; did you mean "maxLength"?',
  ],
  [
    'an unknown option',
    option(new StringField(loose({ pattern: /a/ }))),
    'declaredFields.name: StringField: has no option "pattern"; take one of readOnly',
  ],
  [
    'read_only',
    option(new StringField(loose({ read_only: true }))),
    'has no option "read_only"; did you mean "readOnly"?',
  ],
  [
    'readOnly as a text',
    option(new StringField(loose({ readOnly: 'true' }))),
    'readOnly is "true"; give true or false',
  ],
  ['required as a number', option(new StringField(loose({ required: 1 }))), 'required is 1; give true or false'],
  [
    'allowNull as a text',
    option(new IntegerField(loose({ allowNull: 'yes' }))),
    'allowNull is "yes"; give true or false',
  ],
  [
    'a validator that is no list',
    option(new StringField(loose({ validators: () => undefined }))),
    'validators is validators; give a list of functions',
  ],
  ['a source that is none', option(new StringField(loose({ source: '' }))), 'source is ""; give a name'],
  ['bounds as texts', option(new IntegerField(loose({ minValue: '1' }))), 'minValue is "1"; give a number'],
  [
    'writeOnly with a source that is only read',
    option(new StringField({ writeOnly: true, source: 'boss.name' })),
    'has a dotted source, which is only read, and writeOnly',
  ],
  [
    'readOnly and writeOnly',
    option(new StringField({ readOnly: true, writeOnly: true })),
    'is readOnly and writeOnly; leave out one of them',
  ],
  [
    'readOnly and required',
    option(new StringField({ readOnly: true, required: true })),
    'is readOnly and required; leave out one of them',
  ],
  [
    'required with a default',
    option(new StringField({ required: true, default: 'x' })),
    'is required, so that its default is never used',
  ],
  ['BooleanField', option(new BooleanField(loose({ nullable: true }))), 'BooleanField: has no option "nullable"'],
  [
    'DateTimeField',
    option(new DateTimeField(loose({ format_str: '%Y' }))),
    'has no option "format_str"; did you mean "formatStr"?',
  ],
  [
    'ChoiceField',
    option(new ChoiceField(loose({ choices: ['a'], allowBlank: true }))),
    'ChoiceField: has no option "allowBlank"',
  ],
  [
    'an ArrayField without child',
    option(new ArrayField(loose({ child: StringField }))),
    'ArrayField: child is no field; write child: new SomeField(…)',
  ],
  [
    'the child of an ArrayField',
    option(new ArrayField({ child: new StringField(loose({ maxLenght: 1 })) })),
    'declaredFields.name: ArrayField.child: StringField: has no option "maxLenght"',
  ],
  [
    'the child of an ArrayField that is a related field',
    option(new ArrayField({ child: new PrimaryKeyRelatedField({ queryset: Person }) })),
    'ArrayField: child is a PrimaryKeyRelatedField, which no list checks; declare it in place of the list, with many: true',
  ],
  [
    'the child of an ArrayField that is a serializer',
    option(new ArrayField({ child: new NestedSerializer(NamedSerializer) })),
    'ArrayField: child is a NestedSerializer, which no list checks; declare it in place of the list, with many: true',
  ],
  [
    'the child of an ArrayField that takes no values',
    option(new ArrayField({ child: new HiddenField({ default: 1 }) })),
    'ArrayField: child is a HiddenField, which takes no values; give a field that does',
  ],
  [
    'the child of an ArrayField that is named as a field',
    option(new ArrayField({ child: new StringField({ source: 'nick' }) })),
    'ArrayField.child: StringField: source says nothing of an item; give it to the list',
  ],
  [
    'a queryset that is a query',
    option(new PrimaryKeyRelatedField(loose({ queryset: {} }))),
    'queryset is {}; give a function',
  ],
  [
    'SlugRelatedField',
    option(new SlugRelatedField(loose({ queryset: Person, slug_field: 'name' }))),
    'has no option "slug_field"; did you mean "slugField"?',
  ],
  [
    'many as a text',
    option(new NestedSerializer(serializerWith({}), loose({ many: 'yes', readOnly: true }))),
    'many is "yes"; give true or false',
  ],
  [
    'a storage that is none',
    option(new FileUploadField(loose({ storage: '/tmp' }))),
    'storage is "/tmp"; give an object',
  ],
  [
    'methodName as a function',
    declared({ x: new SerializerMethodField(loose({ methodName: () => 1 })) }),
    'methodName is methodName; give a name',
  ],
  [
    'what is nearly an option, of a subclass',
    option(new (class Title extends StringField {})(loose({ maxlength: 3 }))),
    'declaredFields.name: Title: has no option "maxlength"; did you mean "maxLength"?',
  ],
]

describe('[I23] register() refuses', () => {
  const attempt = (view: () => any, message: string) => {
    expect(registered(view())).toThrow(ConfigurationError)
    expect(registered(view())).toThrow(message)
  }

  it.each(STATICS)('of statics: %s', (_mistake, view, message) => attempt(view, message))
  it.each(SPELLING)('a misspelt name: %s', (_mistake, view, message) => attempt(view, message))
  it.each(SERIALIZERS)('of a serializer: %s', (_mistake, view, message) => attempt(view, message))
  it.each(FIELDS)('of a field: %s', (_mistake, view, message) => attempt(view, message))

  it('a hook that is nearly named as a field', async () => {
    const view = viewWith({ serializerClass: serializerWith({}, { validateNmae: () => undefined }) })
    await expect(prepared(view)).rejects.toThrow('People: nobody calls validateNmae(); did you mean validateName()?')
  })

  it.each(['toRepresentation', 'validate', 'validateName', 'create', 'isValid'])(
    'a method that is assigned to instances of a serializer: %s',
    async (method) => {
      class Assigned extends (serializerWith({}) as typeof ModelSerializer) {
        constructor(options?: object) {
          super(options)
          Object.assign(this, { [method]: () => ({}) })
        }
      }
      await expect(prepared(viewWith({ serializerClass: Assigned }))).rejects.toThrow(
        `Assigned: ${method} is assigned to its instances, where nobody looks for it; write a method: ${method}(…) { … }`,
      )
    },
  )

  it('no method that is called by its name: hooks and methods of fields, and actions', async () => {
    const declaredFields = {
      field_name: new SerializerMethodField(),
      stated: new SerializerMethodField({ methodName: 'validatedName' }),
      x: new IntegerField({ readOnly: true, source: 'id' }),
      '2': new IntegerField({ readOnly: true, source: 'id' }),
    }
    const statics = { declaredFields, fields: ['id', 'name', 'field_name', 'stated', 'x', '2'] }
    const hooks = ['getFieldName', 'validatedName', 'validateX', 'validate2']
    const own = serializerWith(statics, Object.fromEntries(hooks.map((name) => [name, () => 1])))
    const actions = ['retrieved', 'bulkUpdated', 'options2']
    const methods = Object.fromEntries(actions.map((name) => [name, action({ methods: ['GET'] })(() => name)]))
    class Above extends viewWith({ serializerClass: own }, methods, BulkModelViewSet) {}
    class Below extends Above {
      retrieved() {
        return 'below'
      }
    }
    for (const view of [Above, Below]) await expect(prepared(view)).resolves.not.toThrow()
    const byMap = () => viewWith({}, { retrieved: () => null })
    expect(() => byMap().asView({ get: 'retrieved' })).not.toThrow()
    expect(registered(byMap())).toThrow('nobody calls retrieved(); did you mean retrieve()?')
    expect(() => viewWith({ actions: { get: 'retrieved' } }, { retrieved: () => null }).asView()).not.toThrow()
  })

  it('a database throttle without a backend, by its class', () => {
    const view = () => viewWith({ throttleClasses: [DatabaseUserThrottle] })
    expect(registered(view())).toThrow(
      'PersonViewSet.throttleClasses[0]: DatabaseUserThrottle: database throttles have no backend; call DatabaseThrottle.setBackend(knex)',
    )
  })

  it('a scheme by its misspelt property', () => {
    expect(registered(viewWith({ authenticationClasses: [Scheme] }))).not.toThrow()
  })
})

describe('[I23] a policy refuses, when it is made,', () => {
  it.each<[string, () => unknown, string]>([
    [
      'a page size in another spelling',
      () => new PageNumberPagination(loose({ page_size: 10 })),
      'PageNumberPagination: has no option "page_size"; did you mean "pageSize"?',
    ],
    [
      'a limit of another paginator',
      () => new LimitOffsetPagination(loose({ pageSize: 10 })),
      'LimitOffsetPagination: has no option "pageSize"; take one of defaultLimit',
    ],
    [
      'an order of no name',
      () => new CursorPagination(loose({ ordering: 7 })),
      'CursorPagination: ordering is 7; give a name, or a list of names',
    ],
    [
      'a server cursor by another option',
      () => new ServerCursorPagination(loose({ maxIdle: 1 })),
      'ServerCursorPagination: has no option "maxIdle"',
    ],
    [
      'a rate in another word',
      () => new UserRateThrottle(loose({ rates: '1/s' })),
      'UserRateThrottle: has no option "rates"; did you mean "rate"?',
    ],
    [
      'a scope of a throttle without scopes',
      () => new AnonRateThrottle(loose({ scope: 'x' })),
      'AnonRateThrottle: has no option "scope"',
    ],
    [
      'a scope that is none',
      () => new ScopedRateThrottle(loose({ scope: 7 })),
      'ScopedRateThrottle: scope is 7; give a text',
    ],
    [
      'an owner in another word',
      () => new ObjectPermission(loose({ owner: 'x' })),
      'ObjectPermission: has no option "owner"; take one of ownerField',
    ],
    [
      'an owner that is none',
      () => new ObjectPermission(loose({ ownerField: null })),
      'ObjectPermission: ownerField is null; give a name',
    ],
    [
      'options of another permission',
      () => new ModelPermission(loose({ ownerField: 'x' })),
      'ModelPermission: has no option "ownerField"; take one of model',
    ],
    [
      'a filter with no maximum',
      () => new FieldFilter(loose({ maxFilters: 0 })),
      'FieldFilter: maxFilters is 0; give a whole number of at least 1',
    ],
    [
      'a search with a text for a number',
      () => new SearchFilter(loose({ maxTerms: '5' })),
      'SearchFilter: maxTerms is "5"',
    ],
    [
      'an order with an unknown option',
      () => new OrderingFilter(loose({ max: 5 })),
      'OrderingFilter: has no option "max"',
    ],
    [
      'a user that is none',
      () => new SessionAuthentication(loose({ getUser: {} })),
      'SessionAuthentication: getUser is {}; give a function',
    ],
    [
      'a token by another option',
      () => new TokenAuthentication(loose({ getUserForTokens: () => null })),
      'has no option "getUserForTokens"; did you mean "getUserForToken"?',
    ],
    [
      'versions in another word',
      () => new HeaderVersioning(loose({ allowed: ['1'] })),
      'HeaderVersioning: has no option "allowed"; take one of defaultVersion',
    ],
    [
      'an unknown option of an action',
      () => action(loose({ methods: ['GET'], permisionClasses: [] })),
      'action(): has no option "permisionClasses"; did you mean "permissionClasses"?',
    ],
    [
      'methods that are no list',
      () => action(loose({ methods: 'GET' })),
      'action(): methods is "GET"; give a list of names',
    ],
    [
      'a detail that is a text',
      () => action(loose({ methods: ['GET'], detail: 'no' })),
      'action(): detail is "no"; give true or false',
    ],
    [
      'an unknown option of a router',
      () => new APIRouter(loose({ prefx: '/api' })),
      'APIRouter: has no option "prefx"; did you mean "prefix"?',
    ],
    ['a prefix that is none', () => new APIRouter(loose({ prefix: 7 })), 'APIRouter: prefix is 7; give a text'],
    [
      'a basename that is none',
      () => new APIRouter().register('people', viewWith({}), loose({ name: 'x' })),
      'APIRouter: register("people"): the basename {"name":"x"} is no name',
    ],
    [
      'an unknown option of a nested router',
      () => new NestedRouter(new APIRouter().register('people', viewWith({})), 'people', loose({ lookUp: 'id' })),
      'NestedRouter("people"): has no option "lookUp"; did you mean "lookup"?',
    ],
  ])('%s', (_mistake, make, message) => {
    expect(make).toThrow(ConfigurationError)
    expect(make).toThrow(message)
  })

  it('statics of an action that are of another kind, by the action', () => {
    const view = viewWith({}, { recent: action({ methods: ['GET'], ordering: loose('-name') })(function recent() {}) })
    expect(registered(view)).toThrow('PersonViewSet.recent: action(): ordering "-name"'.replace(' "', ' is "'))
  })

  it('nothing of what a subclass of an application may have', () => {
    class Sized extends PageNumberPagination {
      readonly colour: unknown
      constructor(options: { colour: string }) {
        super(loose(options))
        this.colour = options.colour
      }
    }
    class Money extends StringField {}
    const field = new Money(loose({ currency: 'EUR' }))
    class Counting extends ModelViewSet {
      static override model = Person
      static override serializerClass: any = serializerWith({ declaredFields: { name: field } })
      static override paginationClass = new Sized({ colour: 'red' })
      static registry = new Map()
      static from() {}
      getObjects() {}
      helper() {}
    }
    expect(registered(Counting)).not.toThrow()
  })
})

describe('[I23] prepare() refuses', () => {
  const all = (statics: object) => () =>
    viewWith({ serializerClass: serializerWith({ fields: '__all__', ...statics }) })

  it.each<Row>([
    [
      'a misspelt read-only field of __all__',
      all({ readOnlyFields: ['is_amin'] }),
      'People: readOnlyFields names no field "is_amin"; did you mean "is_admin"?',
    ],
    [
      'misspelt extraKwargs of __all__',
      all({ extraKwargs: { is_amin: { readOnly: true } } }),
      'People: extraKwargs names no field "is_amin"; did you mean "is_admin"?',
    ],
    [
      'an option that the generated field does not have',
      all({ extraKwargs: { is_admin: { maxLength: 3 } } }),
      'People: extraKwargs.is_admin: BooleanField: has no option "maxLength"',
    ],
    [
      'options of a generated field that contradict',
      all({ extraKwargs: { name: { readOnly: true, required: true } } }),
      'People: extraKwargs.name: StringField: is readOnly and required',
    ],
    [
      'a key that the database makes, and clients are to give',
      all({ extraKwargs: { id: { readOnly: false } } }),
      'People: extraKwargs.id: IntegerField: readOnly is false, but no client gives its value; leave it out',
    ],
    [
      'objects named by a list',
      () => viewWith({ lookupField: 'tags' }),
      'PersonViewSet: lookupField "tags" does not do: Person: objects cannot be looked up by "tags": it is of type text[]',
    ],
    [
      'a serializer of a class that names the columns of the table otherwise',
      () => viewWith({ serializerClass: NamedSerializer }),
      'PersonViewSet: static serializerClass reads the column "is_admin" as Named.isAdmin, and it is given objects of Person, which have it as "is_admin"; give the serializer the model Person',
    ],
    [
      'a nested serializer of such a class',
      declared({ boss: new NestedSerializer(NamedSerializer, { readOnly: true }) }),
      'People: field "boss" reads the column "is_admin" as Named.isAdmin',
    ],
    ['objects named by json', () => viewWith({ lookupField: 'facts' }), 'lookupField "facts" does not do'],
    ['objects named by jsonb', () => viewWith({ lookupField: 'more' }), 'lookupField "more" does not do'],
    ['objects named by jsonpath', () => viewWith({ lookupField: 'paths' }), 'lookupField "paths" does not do'],
    ['objects named by rows', () => viewWith({ lookupField: 'home' }), 'lookupField "home" does not do'],
    [
      'objects named by what has no equality',
      () => viewWith({ lookupField: 'place' }),
      'lookupField "place" does not do',
    ],
    [
      'a slug that is a list',
      () =>
        viewWith({
          serializerClass: serializerWith({
            declaredFields: { boss: new SlugRelatedField({ queryset: Person, slugField: 'tags' }) },
          }),
        }),
      'SlugRelatedField: "tags" of Person is of type text[], whose values name no object',
    ],
    [
      'an order that a cursor cannot hold, by orderingFields',
      () => viewWith({ paginationClass: CursorPagination, filterBackends: [OrderingFilter], orderingFields: ['tags'] }),
      'CursorPagination: orderingFields names "tags": a cursor cannot hold a position by "tags" of type text[]',
    ],
    [
      'an order that a cursor cannot hold, by ordering',
      () => viewWith({ paginationClass: CursorPagination, ordering: ['tags'] }),
      'CursorPagination: ordering names "tags"',
    ],
    [
      'a limited queryset',
      () => viewWith({}, { getQueryset: () => Person.query().limit(3) }),
      'PersonViewSet: its queryset has a limit',
    ],
    [
      'a union',
      () => viewWith({}, { getQueryset: () => Person.query().union(Person.query()) }),
      'PersonViewSet: its queryset is a union',
    ],
    [
      'a joined graph',
      () => viewWith({}, { getQueryset: () => Person.query().withGraphJoined('boss') }),
      'PersonViewSet: its queryset uses withGraphJoined()',
    ],
    [
      'a limited static queryset',
      () => viewWith({ queryset: () => Person.query().limit(3) }),
      'PersonViewSet: its queryset has a limit',
    ],
    [
      'a forgotten return',
      () => viewWith({}, { getQueryset() {} }),
      'PersonViewSet: its queryset is no query but undefined; return Model.query()',
    ],
    [
      'no query of a static queryset',
      () => viewWith({ queryset: () => null }),
      'PersonViewSet: its queryset is no query but null; return Model.query()',
    ],
    [
      'an asynchronous static queryset',
      () => viewWith({ queryset: async () => Person.query() }),
      'PersonViewSet: its queryset is no query but a promise',
    ],
    [
      'a list for a query',
      () => viewWith({}, { getQueryset: () => [] }),
      'PersonViewSet: its queryset is no query but a list; return Model.query()',
    ],
    [
      'an instance in place of a serializer class',
      () => viewWith({}, { getSerializerClass: () => new OtherSerializer() }),
      'PersonViewSet: getSerializerClass() returned an instance of OtherSerializer; return a serializer class, at once',
    ],
    [
      'an asynchronous choice of a serializer class',
      () => viewWith({}, { getSerializerClass: async () => serializerWith({}) }),
      'PersonViewSet: getSerializerClass() returned a promise',
    ],
    [
      'a generated field that is only written, of a source that is only read: it would be shown',
      serialized({ fields: ['id', 'pin'], extraKwargs: { pin: { writeOnly: true, source: 'boss.name' } } }),
      'extraKwargs.pin: ReadOnlyField: has a dotted source, which is only read, and writeOnly',
    ],
    [
      'an asynchronous queryset',
      () => viewWith({}, { getQueryset: async () => Person.query() }),
      'PersonViewSet: its queryset is no query but a promise',
    ],
  ])('%s', async (_mistake, view, message) => {
    await expect(prepared(view())).rejects.toThrow(ConfigurationError)
    await expect(prepared(view())).rejects.toThrow(message)
  })

  it('what policies check later, which nobody would hear of', async () => {
    const later = () => Promise.reject(new ConfigurationError('wrong')) as never
    const refused = async (statics: object) => {
      const error: unknown = await prepared(viewWith(statics)).catch((failure: unknown) => failure)
      return (error as Error).message
    }
    class Paged extends PageNumberPagination {
      override check = later
    }
    class Guard extends BasePermission {
      override check = later
    }
    class Slow extends BaseThrottle {
      override check = () => undefined
      override settle = later
    }
    expect(await refused({ paginationClass: Paged })).toContain('wrong')
    expect(await refused({ permissionClasses: [Guard] })).toContain('PersonViewSet: Guard: check() is asynchronous')
    expect(await refused({ throttleClasses: [Slow] })).toContain('throttleClasses[0]: Slow: settle() is asynchronous')
  })

  it('nothing of a queryset that only a request can make', async () => {
    const getQueryset = function getQueryset(this: any) {
      return Person.query().where('id', this.ctx.state.user.id).limit(3)
    }
    await expect(prepared(viewWith({}, { getQueryset }))).resolves.toBeUndefined()
  })

  it('a server cursor and a stream on a pool of one connection', async () => {
    const single = knex({ client: 'pg', connection: { ...database.connection } as never, pool: { min: 0, max: 1 } })
    onTestFinished(() => single.destroy())
    class Alone extends Person {}
    Alone.knex(single)
    const of = (statics: object, base: any = ModelViewSet) =>
      viewWith({ model: Alone, serializerClass: serializerWith({ model: Alone }), ...statics }, {}, base)
    await expect(prepared(of({ paginationClass: ServerCursorPagination }))).rejects.toThrow(
      'PersonViewSet: ServerCursorPagination: a pool of one connection has none to keep for a cursor; set pool.max of knex to 2 or more',
    )
    await expect(
      prepared(of({ rendererClasses: [JSONRenderer, CSVRenderer] }, StreamMixin(ModelViewSet))),
    ).rejects.toThrow('PersonViewSet: StreamMixin: a pool of one connection has none to keep for a stream')
    await expect(prepared(of({}))).resolves.toBeUndefined()
  })

  it('two paths that collide, with the actions and what they end in', async () => {
    class Plain extends ViewSet {
      list() {
        return []
      }
    }
    const view = viewWith({}, { recent: action({ methods: ['GET'] })(function recent() {}) })
    const router = new APIRouter().register('people', view, 'person').register('people/recent', Plain, 'recent')
    await expect(router.prepare()).rejects.toThrow(
      'PersonViewSet.recent() (urlPath "recent") and Plain both have the path /people/recent; give one of them another prefix, or its action another urlPath',
    )
  })

  it('classes without a name by one', async () => {
    const Nobody = (() => class extends Model {})()
    Object.assign(Nobody, { tableName: 'people' })
    const model = Nobody
    const view = (() =>
      class extends ListMixin(GenericViewSet) {
        static override model: any = model
        static override serializerClass: any = serializerWith({ model, fields: ['nmae'] })
      })()
    Nobody.knex(database.knex)
    await expect(new APIRouter().register('people', view).prepare()).rejects.toThrow(
      'People: fields names "nmae", which is no column, relation or attribute of the model of "people"',
    )
    expect(() => new APIRouter().register('people', (() => class extends ViewSet {})(), 'x')).toThrow(
      'AnonymousViewSet: has no action',
    )
  })
})

describe('a value that is waited for, where none can be', () => {
  let rejections: unknown[]
  beforeEach(() => {
    rejections = []
    const listen = (error: unknown) => rejections.push(error)
    process.on('unhandledRejection', listen)
    onTestFinished(() => void process.off('unhandledRejection', listen))
  })
  const settled = () => new Promise((resolve) => setImmediate(resolve))

  it.each(['5', '[1]', '["a"]'])('as the key %s of a path, does not end the process', async (text) => {
    await prepared(viewWith({}))
    const column = describeModel(Person).columns.get('tags')
    expect(() => parseLookup(column as never, text)).toThrow(ConfigurationError)
    await settled()
    expect(rejections).toEqual([])
  })

  it('as a related key, is an answer of its field', async () => {
    class Late extends PrimaryKeyRelatedField<{ queryset: typeof Person }> {
      override toInternalValue(): any {
        return Promise.reject(new ValidationError('Not today.'))
      }
    }
    const Bosses = serializerWith({ declaredFields: { boss_id: new Late({ queryset: Person }) } })
    const client = await serveRouter(
      new APIRouter().register('people', viewWith({ serializerClass: Bosses }), 'person'),
    )
    const { status, json } = await client.send('POST', '/people', { name: 'Ben', boss_id: 1 })
    expect([status, json.errors]).toEqual([400, { boss_id: ['Not today.'] }])
    await settled()
    expect(rejections).toEqual([])
  })
})

it('says nothing of items that are only shown', () => {
  const shown = [
    new ReadOnlyField(),
    new PrimaryKeyRelatedField({ readOnly: true }),
    new StringField({ readOnly: true }),
  ]
  for (const child of shown) {
    const list = new ArrayField({ child, readOnly: true })
    expect(() => checkSerializer(serializerWith({ declaredFields: { list } }))).not.toThrow()
  }
})
