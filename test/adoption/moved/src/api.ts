import { Context } from 'koa';
import {
  ApiError,
  APIRouter,
  BasePagination,
  BasePermission,
  configure,
  FieldFilter,
  IntegerField,
  modelSerializer,
  modelViewSet,
  NestedSerializer,
  objectAction,
  ListSource,
  PageRequest,
  SearchFilter,
  ValidationError,
} from 'koa-viewsets';
import { Part } from './models/part';
import { Supplier } from './models/supplier';

configure({
  errorShape: {
    body: ({ detail, errors }) => ({ error: { message: detail, ...(errors && { fields: Object.keys(errors) }) } }),
  },
  messages: { not_found: 'Not found' },
});

class IsUser extends BasePermission {
  hasPermission(ctx: Context) {
    return ctx.isAuthenticated() || ctx.throw(401, 'Please log in');
  }
}

class MayWrite extends BasePermission {
  hasPermission(ctx: Context) {
    return ctx.method === 'GET' || ctx.state.user.isAdmin || ctx.throw(403, 'Admins only');
  }
}

/** { items, total }, as in the rest of the app. */
class Pages extends BasePagination {
  parameters() {
    return [{ name: 'page', description: 'The number of the page.', schema: { type: 'integer' as const, minimum: 1 } }];
  }

  async paginate(source: ListSource, { query }: PageRequest) {
    const page = /^[1-9]\d{0,5}$/.test(String(query.page)) ? Number(query.page) : 1;
    const rows = await source.read({ limit: 20, offset: (page - 1) * 20 });
    return { items: rows.results(0, rows.length), total: await source.count() };
  }
}

const isSku = (sku: unknown) => {
  if (!/^[A-Z0-9-]+$/.test(String(sku))) throw new ValidationError('Capitals, digits and hyphens.');
};

class SupplierSerializer extends modelSerializer(Supplier, { fields: ['id', 'name'] }) {}

class PartSerializer extends modelSerializer(Part, {
  fields: ['id', 'sku', 'name', 'supplierId', 'price', 'stock', 'createdAt', 'updatedAt', 'supplier'],
  readOnlyFields: ['createdAt', 'updatedAt'],
  // the model asks for it, too, once all fields fit: said beside the others, as it was
  extraKwargs: { sku: { validators: [isSku] } },
  declaredFields: { supplier: new NestedSerializer(SupplierSerializer, { readOnly: true }) },
}) {}

const restock = objectAction(
  { methods: ['POST'], input: { quantity: new IntegerField({ minValue: 1 }) } },
  async function (part: Part, { quantity }) {
    await part.$query(this.trx).increment('stock', quantity);
    return this.getSerializer({ obj: await this.getObject() }).data;
  },
);

class PartViewSet extends modelViewSet(Part, {
  serializerClass: PartSerializer,
  permissionClasses: [IsUser, MayWrite],
  paginationClass: Pages,
  filterBackends: [FieldFilter, SearchFilter],
  filtersetFields: ['supplierId'],
  searchFields: ['name', 'sku'],
  searchParam: 'q',
  ordering: ['sku'],
  actions: { restock },
}) {
  /** PUT changes what it gets, as PATCH does. */
  update() {
    return super.update({ partial: true });
  }

  /** 422 and 409, as in the rest of the app. */
  toError(error: unknown) {
    if (!(error instanceof ApiError)) return error;
    const { code } = (error.cause || {}) as { code?: string };
    if (code === '23505') return new ApiError(409, 'Already taken', { errors: error.errors });
    if (code === '23503') return new ApiError(409, 'Still in use, or not there');
    return error.errors ? new ApiError(422, 'Invalid data', { errors: error.errors }) : error;
  }
}

export const api = new APIRouter({ prefix: '/api' }).register('parts', PartViewSet);
