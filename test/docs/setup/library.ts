/** What pages of the book take for granted: a library, a shop, projects, and the application around them. */
import type { Server } from 'node:http'
import Router from '@koa/router'
import createKnex, { type Knex } from 'knex'
import Koa from 'koa'
import {
  APIRouter,
  BasePermission,
  type Context,
  type Generated,
  modelSerializer,
  modelViewSet,
  TokenAuthentication,
} from 'koa-viewsets'
import { count } from 'koa-viewsets/views'
import { type AnyQueryBuilder, Model, type QueryBuilder, type QueryContext, raw } from 'objection'
import { z } from 'zod'

export { type AnyQueryBuilder, type Knex, Koa, Model, type QueryBuilder, type QueryContext, Router, raw, z }

export class User extends Model {
  static override tableName = 'users'
  declare id: number
  declare name: string
  declare subject: string
  declare token_hash: string
  declare is_staff: boolean
  declare projects?: Project[]

  static override relationMappings = () => ({
    projects: {
      relation: Model.HasManyRelation,
      modelClass: Project,
      join: { from: 'users.id', to: 'projects.owner_id' },
    },
  })
}

export class Author extends Model {
  static override tableName = 'authors'
  declare id: number
  declare name: string
  declare books?: Book[]

  static override relationMappings = () => ({
    books: { relation: Model.HasManyRelation, modelClass: Book, join: { from: 'authors.id', to: 'books.author_id' } },
  })
}

export class Review extends Model {
  static override tableName = 'reviews'
  declare id: number
  declare book_id: number
  declare stars: number
  declare text: Generated<string>
}

export class Genre extends Model {
  static override tableName = 'genres'
  declare id: number
  declare name: string
}

export class Book extends Model {
  static override tableName = 'books'
  declare id: number
  declare title: string
  declare body: string | null
  declare slug: string
  declare price: string | null
  declare author_id: number
  declare owner_id: number
  declare deleted_at: Date | null
  declare added_by: Generated<string>
  declare archived: Generated<boolean>
  declare published_on: string | null
  declare photo: string | null
  declare updated_at: Generated<Date>
  declare author?: Author
  declare reviews?: Review[]
  declare genres?: Genre[]

  static override relationMappings = () => ({
    author: {
      relation: Model.BelongsToOneRelation,
      modelClass: Author,
      join: { from: 'books.author_id', to: 'authors.id' },
    },
    reviews: { relation: Model.HasManyRelation, modelClass: Review, join: { from: 'books.id', to: 'reviews.book_id' } },
    genres: {
      relation: Model.ManyToManyRelation,
      modelClass: Genre,
      join: {
        from: 'books.id',
        through: { from: 'books_genres.book_id', to: 'books_genres.genre_id' },
        to: 'genres.id',
      },
    },
  })
}

export class Country extends Model {
  static override tableName = 'countries'
  declare id: number
  declare name: string
  declare region: string
}

export class City extends Model {
  static override tableName = 'cities'
  declare id: number
  declare name: string
  declare population: number
  declare feature_code: string
  declare country_id: number
  declare country?: Country

  static override relationMappings = () => ({
    country: {
      relation: Model.BelongsToOneRelation,
      modelClass: Country,
      join: { from: 'cities.country_id', to: 'countries.id' },
    },
  })
}

export class Customer extends Model {
  static override tableName = 'customers'
  declare id: number
  declare name: string
}

export class Order extends Model {
  static override tableName = 'orders'
  declare id: number
  declare title: string
  declare amount: number
  declare price: string
  declare status: 'open' | 'paid'
  declare country_id: number
  declare created_at: Generated<Date>
  declare customer_id: number
  declare customer?: Customer

  static override relationMappings = () => ({
    customer: {
      relation: Model.BelongsToOneRelation,
      modelClass: Customer,
      join: { from: 'orders.customer_id', to: 'customers.id' },
    },
  })
}

export class Task extends Model {
  static override tableName = 'tasks'
  declare id: number
  declare project_id: number
  declare title: string
  declare due: Date | null
  declare done: boolean

  static override modifiers = { open: (query: QueryBuilder<Task>) => void query.where('tasks.done', false) }
}

export class Project extends Model {
  static override tableName = 'projects'
  declare id: number
  declare name: string
  declare owner_id: number
  declare owner?: User
  declare tasks?: Task[]

  static override relationMappings = () => ({
    owner: {
      relation: Model.BelongsToOneRelation,
      modelClass: User,
      join: { from: 'projects.owner_id', to: 'users.id' },
    },
    tasks: { relation: Model.HasManyRelation, modelClass: Task, join: { from: 'projects.id', to: 'tasks.project_id' } },
  })
}

export class AuthorSerializer extends modelSerializer(Author, { fields: ['id', 'name'] }) {}
export class GenreSerializer extends modelSerializer(Genre, { fields: ['id', 'name'] }) {}
export class ReviewSerializer extends modelSerializer(Review, { fields: ['id', 'stars', 'text'] }) {}
export class BookSerializer extends modelSerializer(Book, {
  fields: ['id', 'title', 'price', 'author_id', 'published_on', 'updated_at'],
  readOnlyFields: ['updated_at'],
}) {}
export class CitySerializer extends modelSerializer(City, { fields: '__all__' }) {}
export class OrderSerializer extends modelSerializer(Order, { fields: '__all__' }) {}
export class OwnerSerializer extends modelSerializer(User, { fields: ['id', 'name'] }) {}
export class TaskSerializer extends modelSerializer(Task, { fields: ['id', 'title', 'due', 'done'] }) {}

export class AuthorViewSet extends modelViewSet(Author, { serializerClass: AuthorSerializer }) {}
export class ReviewViewSet extends modelViewSet(Review, { serializerClass: ReviewSerializer }) {}
export class BookViewSet extends modelViewSet(Book, { serializerClass: BookSerializer }) {}
export class TaskViewSet extends modelViewSet(Task, { serializerClass: TaskSerializer }) {}
export class OrderViewSet extends modelViewSet(Order, {
  serializerClass: OrderSerializer,
  aggregates: { orders: count() },
  groupBy: ['country_id'],
  facets: ['status'],
}) {}

/** Who sees an object may read it. */
export class IsReading extends BasePermission {
  override hasPermission({ method }: Context) {
    return ['GET', 'HEAD', 'OPTIONS'].includes(method)
  }
}

export class TokenAuth extends TokenAuthentication {
  override async getUserForToken(token: string) {
    return User.query().findOne({ token_hash: token })
  }
}

export const knex = createKnex({ client: 'pg' })
export const app = new Koa()
export const router = new Router()
export const api = new APIRouter({ prefix: '/api' }).register('books', BookViewSet).register('authors', AuthorViewSet)

export declare const server: Server
export declare const ctx: Context & { readonly request: { readonly body: unknown } }
/** A user, by a table row or a claim of its token. */
export declare const user: User
export declare const mailer: { confirm(order: Order): Promise<void> }
export declare const queue: { add(name: string, data: object): Promise<void> }
export declare const logger: Record<'debug' | 'warn', (details: object, text: string) => void>
export declare const invoices: { pay(order: Order): Promise<void> }
export declare function knexOf(name: string): Knex
export declare function handler(ctx: Context): Promise<void>
export declare function sleep(milliseconds: number): Promise<void>
export declare function wakeWorker(): void
export declare function deliver(topic: string, payload: unknown, options: { id: string }): Promise<void>
export declare function translate(language: string, code: string, values: object): string
export declare function isOfPartner(ctx: Context): boolean
export declare const byPartner: TokenAuthentication
export declare function userOfSignature(signature: string, path: string): Promise<User | undefined>
