import { describe, expect, it } from 'vitest'
import {
  APIRouter,
  APIView,
  type Authentications,
  BulkModelViewSet,
  CacheableMixin,
  ConfigurationError,
  GenericAPIView,
  IntegerField,
  IsAuthenticated,
  ModelSerializer,
  ModelViewSet,
  NestedViewSetMixin,
  Serializer,
  SessionAuthentication,
  StreamMixin,
  TokenAuthentication,
  UserRateThrottle,
} from '../../../lib/index.js'
import { staticKinds } from '../../../lib/kernel/declarations.js'
import { MeteringMixin } from '../../../lib/metering/index.js'
import { Book, BookSerializer } from '../../support/library.js'

class Books extends CacheableMixin(BulkModelViewSet<Book>) {
  static override model = Book
  static override serializerClass = BookSerializer
}

describe('a static of ours', () => {
  it.each<[string, object]>([
    ['APIView', APIView],
    ['GenericAPIView', GenericAPIView],
    ['a bulk view set with mixins', CacheableMixin(StreamMixin(NestedViewSetMixin(BulkModelViewSet)))],
    ['a metered view set', MeteringMixin(BulkModelViewSet)],
    ['Serializer', Serializer],
    ['ModelSerializer', ModelSerializer],
    ['SimpleRateThrottle', UserRateThrottle],
  ])('has a kind that its values are checked by: those of %s', (_name, made) => {
    const own: string[] = []
    for (let one = made; one !== Function.prototype; one = Object.getPrototypeOf(one)) own.push(...Object.keys(one))
    expect(Object.keys(staticKinds(made))).toEqual(expect.arrayContaining(own.filter((name) => name !== 'memory')))
  })
})

describe('[I23] what was written without static', () => {
  it.each(['permissionClasses', 'ordering', 'maxBulkSize', 'cacheMaxAge'])('%s of a view set is told', (name) => {
    class Forgetful extends Books {
      constructor() {
        super()
        Object.assign(this, { [name]: [IsAuthenticated] })
      }
    }
    const message = `Forgetful: ${name} is set on instances, where nobody reads it; write static ${name} = …`
    expect(() => new APIRouter().register('books', Forgetful)).toThrow(new ConfigurationError(message))
    expect(() => Forgetful.asView({ get: 'list' })).toThrow(message)
  })

  it('is told as a field of the class, and of one above it', () => {
    class Open extends Books {
      permissionClasses = [IsAuthenticated]
    }
    class Below extends Open {}
    expect(() => Open.asView({ get: 'list' })).toThrow('Open: permissionClasses is set on instances')
    expect(() => Below.asView({ get: 'list' })).toThrow('Below: permissionClasses is set on instances')
  })

  it('of a serializer is told', () => {
    class Loose extends ModelSerializer<Book> {
      static override model = Book
      static override fields = ['id', 'title']
      readOnlyFields = ['title']
    }
    class Input extends Serializer {
      declaredFields = { n: new IntegerField() }
    }
    expect(() => Loose.plan).toThrow(
      'Loose: readOnlyFields is set on instances, where nobody reads it; write static readOnlyFields = …',
    )
    expect(() => Input.plan).toThrow('Input: declaredFields is set on instances')
  })

  it("leaves what is an application's own, what works, and what needs a request", () => {
    class Own extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
      static started = 0
      started = Date.now()
      #secret = 1
      maxBulkSize = this.#secret
    }
    class Asking extends Books {
      permissionClasses: unknown
      constructor() {
        super()
        this.permissionClasses = this.ctx.state['user']
      }
    }
    for (const view of [Own, Asking]) expect(() => view.asView({ get: 'list' })).not.toThrow()
  })
})

describe('a field that only tells a type, and makes undefined of what is there', () => {
  it.each(['getQueryset', 'action', 'basename'])('is told of a view set: %s', (name) => {
    class Typed extends Books {
      constructor() {
        super()
        Object.defineProperty(this, name, { value: undefined, enumerable: true })
      }
    }
    const message = `Typed: the field ${name} makes undefined of what is there; write declare ${name}, which only tells its type`
    expect(() => new APIRouter().register('books', Typed)).toThrow(new ConfigurationError(message))
  })

  it.each(['validatedData', 'context', 'isValid'])('is told of a serializer: %s', (name) => {
    class Typed extends BookSerializer {
      constructor() {
        super()
        Object.defineProperty(this, name, { value: undefined, enumerable: true })
      }
    }
    expect(() => Typed.plan).toThrow(`Typed: the field ${name} makes undefined of what is there; write declare ${name}`)
  })

  it('is told of a policy', () => {
    class Typed extends TokenAuthentication {
      override getUserForToken = undefined as never
    }
    class Known extends Books {
      static override authenticationClasses: Authentications = [Typed]
    }
    expect(() => new APIRouter().register('books', Known)).toThrow('Typed: the field getUserForToken makes undefined')
  })

  it('leaves what a request brings, what has no value, and actions that are taken away', () => {
    class Own extends Books {
      override ctx = undefined as never
      override destroy = undefined as never
      helper = undefined
    }
    class Hidden extends SessionAuthentication {
      override openapi = undefined as never
    }
    class Known extends Own {
      static override authenticationClasses: Authentications = [Hidden]
    }
    expect(() => new APIRouter().register('books', Known)).not.toThrow()
  })
})

describe('a generator, which does nothing when it is called, is told', () => {
  const generator = function* () {}
  const withMethod = <Class extends abstract new (...args: never[]) => object>(made: Class, name: string): Class => {
    Object.defineProperty(made.prototype, name, { value: generator })
    return made
  }

  it.each(['list', 'performUpdate', 'getQueryset'])('of a view set: %s', (name) => {
    const Old = withMethod(class Old extends Books {}, name)
    const message = `Old: ${name}() is a generator, which does nothing when it is called; write it without the *`
    expect(() => new APIRouter().register('books', Old)).toThrow(new ConfigurationError(message))
  })

  it.each(['validate', 'validateTitle', 'create'])('of a serializer: %s', (name) => {
    const Old = withMethod(class Old extends BookSerializer {}, name)
    expect(() => Old.plan).toThrow(`Old: ${name}() is a generator`)
  })

  it('of a scheme, whose user it would be', () => {
    const Old = withMethod(class Old extends TokenAuthentication {}, 'getUserForToken')
    class Known extends Books {
      static override authenticationClasses: Authentications = [Old]
    }
    expect(() => new APIRouter().register('books', Known)).toThrow('Old: getUserForToken() is a generator')
    expect(() => new SessionAuthentication({ getUser: generator })).toThrow(
      'SessionAuthentication: getUser is a generator function; give a function',
    )
  })
})
