import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ConfigurationError } from '../../../lib/kernel/errors.js'
import { configure, getCursorSecret, getSecretKey, preparesStatements, setting } from '../../../lib/kernel/settings.js'

const KEY = 'secret key of the environment'
const CURSOR = 'cursor secret of the environment'

beforeEach(() => {
  vi.stubEnv('SERVICE_SECRET_KEY', undefined)
  vi.stubEnv('SERVICE_CURSOR_SECRET', undefined)
})

afterEach(() => {
  vi.unstubAllEnvs()
  configure({})
})

describe('getSecretKey', () => {
  it('reads the environment when it is called', () => {
    vi.stubEnv('SERVICE_SECRET_KEY', KEY)
    expect(getSecretKey()).toBe(KEY)
    vi.stubEnv('SERVICE_SECRET_KEY', ` ${KEY} `)
    expect(getSecretKey()).toBe(` ${KEY} `)
  })

  it('prefers what configure() was given, until it is given nothing', () => {
    vi.stubEnv('SERVICE_SECRET_KEY', KEY)
    configure({ secretKey: 'secret key of the code' })
    expect(getSecretKey()).toBe('secret key of the code')
    configure({ secretKey: undefined })
    expect(getSecretKey()).toBe(KEY)
  })

  it('names the variable and the fix when it is missing', () => {
    expect(getSecretKey).toThrow(ConfigurationError)
    expect(getSecretKey).toThrow(
      /^SERVICE_SECRET_KEY is not set: .*configure\(\{ secretKey \}\) at least 16 random characters/,
    )
  })

  it.each(['', 'short', '15 characters!!'])('refuses %j, without showing it', (secret) => {
    vi.stubEnv('SERVICE_SECRET_KEY', secret)
    expect(getSecretKey).toThrow(ConfigurationError)
    expect(getSecretKey).toThrow(
      `SERVICE_SECRET_KEY has ${secret.length} characters: make it at least 16 random characters, the same on all nodes`,
    )
  })

  it('takes 16 characters', () => {
    vi.stubEnv('SERVICE_SECRET_KEY', '16 characters!!!')
    expect(getSecretKey()).toBe('16 characters!!!')
  })
})

describe('getCursorSecret', () => {
  it('is the cursor secret where there is one', () => {
    vi.stubEnv('SERVICE_CURSOR_SECRET', CURSOR)
    expect(getCursorSecret()).toBe(CURSOR)
    vi.stubEnv('SERVICE_SECRET_KEY', KEY)
    expect(getCursorSecret()).toBe(CURSOR)
    configure({ cursorSecret: 'cursor secret of the code' })
    expect(getCursorSecret()).toBe('cursor secret of the code')
  })

  it('is the secret key otherwise', () => {
    vi.stubEnv('SERVICE_SECRET_KEY', KEY)
    expect(getCursorSecret()).toBe(KEY)
  })

  it('never gives way to the secret key when it is too short', () => {
    vi.stubEnv('SERVICE_SECRET_KEY', KEY)
    vi.stubEnv('SERVICE_CURSOR_SECRET', '')
    expect(getCursorSecret).toThrow(ConfigurationError)
    expect(getCursorSecret).toThrow('SERVICE_CURSOR_SECRET has 0 characters')
  })

  it('names the secret key when neither is set', () => {
    expect(getCursorSecret).toThrow('SERVICE_SECRET_KEY is not set')
  })
})

describe('configure', () => {
  it.each(['secretKey', 'cursorSecret'] as const)('refuses a short %s and changes nothing', (name) => {
    configure({ secretKey: KEY, cursorSecret: CURSOR })
    expect(() => configure({ [name]: 'short' })).toThrow(ConfigurationError)
    expect(() => configure({ [name]: 'short' })).toThrow(`configure({ ${name} }) has 5 characters`)
    expect([getSecretKey(), getCursorSecret()]).toEqual([KEY, CURSOR])
  })

  it.each([
    ['APP_VERSION', 'configure({ APP_VERSION }) is no setting: write appVersion'],
    ['SERVICE_SECRET_KEY', 'configure({ SERVICE_SECRET_KEY }) is no setting: write secretKey'],
    ['serviceSecretKey', 'configure({ serviceSecretKey }) is no setting: give some of secretKey, cursorSecret, '],
    ['constructor', 'configure({ constructor }) is no setting: give some of secretKey, cursorSecret, '],
  ])('[I23] refuses %s, which is no setting, and changes nothing', (name, message) => {
    configure({ secretKey: KEY })
    const wrong = { secretKey: CURSOR, [name]: 'a'.repeat(16) }
    expect(() => configure(wrong)).toThrow(ConfigurationError)
    expect(() => configure(wrong)).toThrow(message)
    expect(getSecretKey()).toBe(KEY)
  })

  it('does not follow later changes of its argument', () => {
    const settings = { secretKey: KEY }
    configure(settings)
    settings.secretKey = 'changed afterwards'
    expect(getSecretKey()).toBe(KEY)
  })
})

describe('the settings of versions and assets', () => {
  it.each([
    [
      'staticUrl',
      'STATIC_URL',
      ['static', '//x.test', 'ftp://x.test', 'https://', '/a b', '/a?b', '/a"b', '/a<b', 'https://u@x.test/'],
    ],
    ['staticRoot', 'STATIC_ROOT', []],
    ['cacheBustToken', 'CACHE_BUST_TOKEN', ['short']],
    ['appVersion', 'APP_VERSION', ['a b']],
    ['appVersionHeader', 'APP_VERSION_HEADER', ['2', 'null']],
    ['appVersionMismatch', 'APP_VERSION_MISMATCH', ['RELOAD', '__proto__']],
    ['versionEndpoint', 'VERSION_ENDPOINT', ['nein']],
    ['staticDevVersionQuery', 'STATIC_DEV_VERSION_QUERY', ['t']],
    ['preparedStatements', 'PREPARED_STATEMENTS', ['never']],
  ] as const)('%s is refused, in one line, where it cannot be used', (name, variable, values) => {
    for (const value of values) {
      vi.stubEnv(variable, value)
      expect(() => setting(name)).toThrow(ConfigurationError)
      expect(() => setting(name)).toThrow(new RegExp(`^${variable} (is|has) .*$`))
      expect(() => configure({ [name]: value })).toThrow(`configure({ ${name} })`)
    }
    vi.stubEnv(variable, undefined)
    expect(setting(name)).toBeUndefined()
    const circle: { of?: unknown } = {}
    circle.of = circle
    const code = () => {
      return value
    }
    let value: unknown
    for (value of [7, 7n, {}, circle, [], code]) {
      expect(() => configure({ [name]: value })).toThrow(ConfigurationError)
      expect(() => configure({ [name]: value })).toThrow(/^.*$/)
    }
  })

  it('an empty variable counts as not set, but for secrets', () => {
    for (const variable of ['STATIC_URL', 'STATIC_ROOT', 'APP_VERSION', 'APP_VERSION_HEADER', 'APP_VERSION_MISMATCH']) {
      vi.stubEnv(variable, '')
    }
    for (const name of ['staticUrl', 'staticRoot', 'appVersion', 'appVersionHeader', 'appVersionMismatch'] as const) {
      expect(setting(name)).toBeUndefined()
    }
  })

  it('code counts before the environment', () => {
    vi.stubEnv('APP_VERSION_HEADER', 'true')
    configure({ appVersionHeader: false, staticUrl: 'https://cdn.example.com:8080/a/b' })
    expect([setting('appVersionHeader'), setting('staticUrl')]).toEqual([false, 'https://cdn.example.com:8080/a/b'])
  })
})

describe('preparesStatements', () => {
  it.each([
    [undefined, undefined, true],
    ['', undefined, true],
    ['false', undefined, false],
    ['off', undefined, false],
    ['false', true, true],
    ['true', false, false],
  ])('with PREPARED_STATEMENTS=%j and %j in code it is %j', (variable, preparedStatements, expected) => {
    vi.stubEnv('PREPARED_STATEMENTS', variable)
    configure({ preparedStatements })
    expect(preparesStatements()).toBe(expected)
  })
})
