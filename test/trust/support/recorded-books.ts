/** Books with reviews, whose changes are recorded: view sets of the apps of the runs about changes, and about webhooks. */
import {
  BulkModelViewSet,
  type DeclaredFields,
  ModelSerializer,
  NestedSerializer,
  type SerializerClass,
} from 'koa-viewsets'
import { ChangesMixin } from 'koa-viewsets/changes'
import { Model } from 'objection'

class Review extends Model {
  static override tableName = 'reviews'
}
class Book extends Model {
  static override tableName = 'books'
  static override relationMappings = () => ({
    reviews: { relation: Model.HasManyRelation, modelClass: Review, join: { from: 'books.id', to: 'reviews.book_id' } },
  })
}
class ReviewSerializer extends ModelSerializer<Review> {
  static override model = Review
  static override fields = ['id', 'text']
}
class FlatSerializer extends ModelSerializer<Book> {
  static override model = Book
  static override fields = ['id', 'title', 'price']
}
class BookSerializer extends FlatSerializer {
  static override declaredFields: DeclaredFields = {
    reviews: new NestedSerializer(ReviewSerializer, { many: true, required: false }),
  }
}

export class Books extends ChangesMixin(BulkModelViewSet<Book>) {
  static override model = Book
  static override serializerClass: SerializerClass = BookSerializer
}
export class FlatBooks extends Books {
  static override serializerClass: SerializerClass = FlatSerializer
}
