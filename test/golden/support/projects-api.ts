/** Projects with tasks and members, as view sets that use what the examples do not. */
import {
  BasePermission,
  bulkModelViewSet,
  type Context,
  CSVRenderer,
  CursorPagination,
  FieldFilter,
  JSONParser,
  JSONRenderer,
  LimitOffsetPagination,
  ModelSerializer,
  modelSerializer,
  modelViewSet,
  NDJSONRenderer,
  NestedSerializer,
  nestedViewSet,
  OrderingFilter,
  PageNumberPagination,
  PrimaryKeyRelatedField,
  readOnlyModelViewSet,
  SearchFilter,
  ServerCursorPagination,
  SlugRelatedField,
  StreamMixin,
} from 'koa-viewsets'
import { JsonPatchParser, MergePatchParser } from 'koa-viewsets/patches'
import { count, ModifierFilter, max, sum } from 'koa-viewsets/views'
import { Model, snakeCaseMappers } from 'objection'
import { Note, Person, Project, Task } from '../../support/projects.js'

/** How answers are read. */
export const WAYS = ['rows', 'native', 'instances'] as const
type Way = (typeof WAYS)[number]

class IsAdmin extends BasePermission {
  override hasPermission({ state }: Context) {
    return (state['user'] as { id: string } | undefined)?.id === 'admin'
  }
}

class NoteSerializer extends modelSerializer(Note, { fields: ['id', 'text'] }) {}
class PersonSerializer extends modelSerializer(Person, { fields: ['id', 'name', 'rank'] }) {}
class TaskSerializer extends modelSerializer(Task, { fields: ['id', 'title', 'due', 'done'] }) {}
class ProjectNameSerializer extends modelSerializer(Project, { fields: ['id', 'name'] }) {}

class TaskWithNotesSerializer extends modelSerializer(Task, {
  fields: ['id', 'title', 'due', 'notes'],
  declaredFields: { notes: new NestedSerializer(NoteSerializer, { many: true, readOnly: true }) },
}) {}

class ProjectSerializer extends ModelSerializer<Project> {
  static override model = Project
  static override fields = ['id', 'name', 'slug', 'parent_id', 'parent', 'tasks', 'members', 'names']
  static override declaredFields = {
    parent: new NestedSerializer(ProjectNameSerializer, { readOnly: true }),
    tasks: new NestedSerializer(TaskWithNotesSerializer, { many: true, readOnly: true, orderBy: ['-due'], limit: 3 }),
    members: new PrimaryKeyRelatedField({ queryset: Person, many: true, required: false }),
    names: new SlugRelatedField({ source: 'members', slugField: 'name', many: true, readOnly: true }),
  }
}

/** The same, by code of the application. */
class OwnProjectSerializer extends ProjectSerializer {
  override toRepresentation(project: Project) {
    return super.toRepresentation(project)
  }
}

class FilteredTaskViewSet extends modelViewSet(Task, {
  serializerClass: TaskSerializer,
  filterBackends: [FieldFilter],
  filtersetFields: ['title', 'due', 'done'],
}) {}

/** Lists in each of the ways, with all that can be asked of a list. */
export function projectsBy(way: Way) {
  class ProjectViewSet extends bulkModelViewSet(Project, {
    serializerClass: way === 'instances' ? OwnProjectSerializer : ProjectSerializer,
    useNativeJson: way === 'native',
    paginationClass: new PageNumberPagination({ pageSize: 2 }),
    filterBackends: [new FieldFilter({ groupParam: 'filter' }), SearchFilter, OrderingFilter],
    filtersetFields: ['id', 'name', 'slug', 'parent_id', 'parent__name', 'tasks__title'],
    filterRelations: { tasks: FilteredTaskViewSet },
    searchFields: ['name', 'parent__name', 'tasks__title'],
    orderingFields: ['name', 'parent__name'],
    ordering: ['id'],
    expandable: {
      children: new NestedSerializer(ProjectNameSerializer, { many: true, orderBy: ['name'] }),
      tasks_count: count('tasks'),
    },
    queryMethod: true,
    softDelete: { column: 'deleted_at', permissionClasses: [IsAdmin], purgePermissionClasses: [IsAdmin] },
  }) {}
  return ProjectViewSet
}

/** The tasks of a project, below it. */
export class ProjectTaskViewSet extends nestedViewSet(Task, {
  serializerClass: TaskWithNotesSerializer,
  parentLookupField: 'project_id',
  ordering: ['id'],
}) {}

class WrittenTaskSerializer extends modelSerializer(Task, {
  fields: ['id', 'title', 'due', 'notes'],
  declaredFields: { notes: new NestedSerializer(NoteSerializer, { many: true, required: false }) },
}) {}

class WrittenParentSerializer extends modelSerializer(Project, { fields: ['id', 'name'] }) {}

class WrittenProjectSerializer extends modelSerializer(Project, {
  fields: ['id', 'name', 'parent', 'tasks', 'members'],
  declaredFields: {
    parent: new NestedSerializer(WrittenParentSerializer, { required: false, allowNull: true }),
    tasks: new NestedSerializer(WrittenTaskSerializer, { many: true, required: false }),
    members: new PrimaryKeyRelatedField({ queryset: Person, many: true, required: false }),
  },
}) {}

/** Writes of objects with those inside them. */
export class WrittenProjectViewSet extends bulkModelViewSet(Project, {
  serializerClass: WrittenProjectSerializer,
  ordering: ['id'],
}) {}

/** Changes by patch documents. */
export class PatchedProjectViewSet extends modelViewSet(Project, {
  serializerClass: WrittenProjectSerializer,
  parserClasses: [JSONParser, MergePatchParser, JsonPatchParser],
}) {}

export class Member extends Model {
  static override tableName = 'members'
  static override idColumn = ['project_id', 'person_id']
  declare project_id: number
  declare person_id: number
}

/** Keys of two columns. */
export class MemberViewSet extends bulkModelViewSet(Member, {
  serializerClass: modelSerializer(Member, { fields: ['project_id', 'person_id'] }),
  paginationClass: new CursorPagination({ ordering: 'id', pageSize: 2 }),
}) {}

export class CamelTask extends Model {
  static override tableName = 'tasks'
  static override columnNameMappers = snakeCaseMappers()
  declare id: number
  declare projectId: number
  declare title: string
  declare done: boolean
  declare deletedAt: Date | null
}

/** Properties that are called otherwise than their columns. */
export class CamelTaskViewSet extends bulkModelViewSet(CamelTask, {
  serializerClass: modelSerializer(CamelTask, { fields: ['id', 'projectId', 'title', 'done'] }),
  filterBackends: [FieldFilter, OrderingFilter],
  filtersetFields: ['projectId'],
  orderingFields: ['projectId'],
  softDelete: 'deletedAt',
}) {}

const pagesOf = { serializerClass: TaskSerializer, filterBackends: [FieldFilter], filtersetFields: ['done'] } as const

/** The paginators, by the names of their resources. */
export const PAGES = {
  numbered: readOnlyModelViewSet(Task, {
    ...pagesOf,
    paginationClass: new PageNumberPagination({ pageSize: 2, linkHeader: true }),
  }),
  capped: readOnlyModelViewSet(Task, {
    ...pagesOf,
    paginationClass: new PageNumberPagination({ pageSize: 2, count: 'capped', countLimit: 3 }),
  }),
  uncounted: readOnlyModelViewSet(Task, {
    ...pagesOf,
    paginationClass: new PageNumberPagination({ pageSize: 2, count: 'none' }),
  }),
  limited: readOnlyModelViewSet(Task, {
    ...pagesOf,
    paginationClass: new LimitOffsetPagination({ defaultLimit: 2, linkHeader: true }),
  }),
  keyset: readOnlyModelViewSet(Task, {
    ...pagesOf,
    paginationClass: new CursorPagination({ ordering: '-due', pageSize: 2, linkHeader: true }),
  }),
  'keyset-native': readOnlyModelViewSet(Task, {
    ...pagesOf,
    useNativeJson: true,
    paginationClass: new CursorPagination({ ordering: '-due', pageSize: 2 }),
  }),
  snapshot: readOnlyModelViewSet(Task, {
    ...pagesOf,
    paginationClass: new ServerCursorPagination({ pageSize: 3 }),
  }),
} as const

/** Sums, counts, modifiers and exports of tasks. */
export class FigureViewSet extends readOnlyModelViewSet(Task, {
  serializerClass: TaskWithNotesSerializer,
  mixins: [StreamMixin],
  rendererClasses: [JSONRenderer, CSVRenderer, NDJSONRenderer],
  filterBackends: [new FieldFilter({ groupParam: 'filter' }), new ModifierFilter(Task, ['open', 'ends'])],
  filtersetFields: ['title', 'done', 'project__name'],
  paginationClass: new PageNumberPagination({ pageSize: 2 }),
  queryMethod: true,
  aggregates: { tasks: count(), days: sum('due'), latest: max('due') },
  groupBy: ['done', 'project__name'],
  facets: ['done', 'project__name'],
  strictParams: true,
}) {}

export class PersonViewSet extends modelViewSet(Person, { serializerClass: PersonSerializer }) {}
