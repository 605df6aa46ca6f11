import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ConfigurationError } from '../../lib/errors.js'
import { configure, getCursorSecret, getSecretKey } from '../../lib/settings.js'

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

  it('does not follow later changes of its argument', () => {
    const settings = { secretKey: KEY }
    configure(settings)
    settings.secretKey = 'changed afterwards'
    expect(getSecretKey()).toBe(KEY)
  })
})
