/** Options of middleware: one that is unknown or of another kind is refused when it is called, and not ignored. */
import knex from 'knex'
import { describe, expect, it } from 'vitest'
import { generateApiKey } from '../../lib/api-keys/index.js'
import { collectStatic } from '../../lib/assets/index.js'
import { readChanges } from '../../lib/changes/index.js'
import { APIRouter, FormParser, HeaderVersioning, JSONParser, MultiPartParser, withClient } from '../../lib/index.js'
import { ConfigurationError } from '../../lib/kernel/errors.js'
import { InMemoryMeteringEngine, setMeteringEngine } from '../../lib/metering/index.js'
import { applyPatch, JsonPatchParser } from '../../lib/patches/index.js'
import { FileSystemStorage, FlydriveStorage } from '../../lib/storage/index.js'
import { DatabaseThrottle, MemoryStore } from '../../lib/throttling/index.js'
import * as plugins from '../../plugins/index.js'

/** As JavaScript calls them. */
const called = plugins as unknown as Record<keyof typeof plugins, (...given: unknown[]) => unknown>
const { appVersion, cacheBust, contentNegotiation, docs, etag, metering } = called
const { staticAssets, versionEndpoint, versionRouter } = called
const api = new APIRouter({ prefix: '/api' })
// opens no connection
const base = knex({ client: 'pg' })
const disk = { putStream: async () => {}, delete: async () => {} }

describe('options of middleware, parsers and stores', () => {
  it.each<[() => unknown, string]>([
    [() => etag({ privat: false }), 'etag(): has no option "privat"; did you mean "private"?'],
    [() => etag({ private: 'no' }), 'etag(): private is "no"; give true or false'],
    [() => etag(60), 'etag(): the options are no object; give { … }'],
    [() => contentNegotiation({ parser: [] }), 'contentNegotiation(): has no option "parser"; did you mean "parsers"?'],
    [() => contentNegotiation({ methods: 'POST' }), 'contentNegotiation(): methods is "POST"; give a list of names'],
    [() => contentNegotiation([]), 'contentNegotiation(): the options are no object; give { … }'],
    [() => metering({ engin: {} }), 'metering(): has no option "engin"; did you mean "engine"?'],
    [() => metering({ engine: InMemoryMeteringEngine }), 'metering(): the metering engine has no method record()'],
    [() => setMeteringEngine({} as never), 'setMeteringEngine(): the metering engine has no method record()'],
    [() => appVersion({ nonse: () => 'n' }), 'appVersion(): has no option "nonse"; did you mean "nonce"?'],
    [() => appVersion({ header: 'no' }), 'appVersion(): header is "no"; give true or false'],
    [
      () => versionEndpoint({ path: 'version' }),
      'versionEndpoint(): path is "version"; give a path that begins with a',
    ],
    [() => versionEndpoint('/version'), 'versionEndpoint(): the options are no object; give { … }'],
    [
      () => cacheBust({ path: 'cache/bust' }),
      'cacheBust(): path is "cache/bust"; give a path that begins with a slash',
    ],
    [() => cacheBust({ chanel: {} }), 'cacheBust(): has no option "chanel"; did you mean "channel"?'],
    [() => versionRouter(), 'versionRouter(): the options are no object; give { … }'],
    [() => versionRouter({}), 'versionRouter(): versionMap has no version; add one'],
    [() => versionRouter({ versionMap: null }), 'versionRouter(): versionMap is null; give an object'],
    [() => docs(), 'docs(): give the router that is mounted, or a document'],
    [() => docs({}), 'docs(): give the router that is mounted, or a document'],
    [() => docs(api, { tittle: 'Books' }), 'docs(): has no option "tittle"; did you mean "title"?'],
    [() => staticAssets({ dirs: 'public' }), 'staticAssets(): dirs is "public"; give a list of names'],
    [() => staticAssets('public'), 'staticAssets(): the options are no object; give { … }'],
    [() => new MemoryStore({ maxKey: 1 } as never), 'MemoryStore: has no option "maxKey"; did you mean "maxKeys"?'],
    [() => new JSONParser({ limits: 9 } as never), 'JSONParser: has no option "limits"; did you mean "limit"?'],
    [() => new JSONParser({ limit: '1mb' } as never), 'JSONParser: limit is "1mb"; give a whole number of at least 1'],
    [() => new JsonPatchParser({ operation: 9 } as never), 'JsonPatchParser: has no option "operation"'],
    [() => new FormParser({ field: 9 } as never), 'FormParser: has no option "field"; did you mean "fields"?'],
    [() => new MultiPartParser({ maxFiles: 9 } as never), 'MultiPartParser: has no option "maxFiles"'],
    [() => new FileSystemStorage({ root: '/f', baseURL: '/f' } as never), 'FileSystemStorage: has no option "baseURL"'],
    [() => new FlydriveStorage(disk, {} as never), 'FlydriveStorage: set baseUrl to what URLs begin with'],
    [
      () => plugins.versioning(new HeaderVersioning({ allowedVersions: [1, 2] as never })),
      'versioning(): 1 is no version; write a text of 1 to 32 letters, digits',
    ],
  ])('[I23] are refused where nobody would read them: %s', (make, message) => {
    expect(make).toThrow(ConfigurationError)
    expect(make).toThrow(message)
  })

  it.each<[() => unknown, string]>([
    [
      () => DatabaseThrottle.setBackend(base, { timeOut: 9 } as never),
      'has no option "timeOut"; did you mean "timeout"?',
    ],
    // a timer of so long fires at once
    [
      () => DatabaseThrottle.setBackend(base, { timeout: Number.POSITIVE_INFINITY }),
      'setBackend(): timeout is Infinity',
    ],
    [
      () => generateApiKey({ userId: 1, expires: new Date() } as never, base),
      'generateApiKey(): has no option "expires"',
    ],
    [() => generateApiKey({ userId: 1, scopes: 'read' } as never, base), 'scopes is "read"; give a list of names'],
    [() => generateApiKey({ userId: 1, expiresAt: '2030-01-01' } as never, base), 'expiresAt is no date'],
    [() => readChanges(base, { postion: '1' } as never), 'readChanges(): has no option "postion"'],
    [() => readChanges(base, { position: null } as never), 'readChanges(): position is null; give a text'],
    [() => withClient({} as never, async () => {}, { base } as never), 'withClient(): has no option "base"'],
    [() => applyPatch({}, [], { maxOperation: 9 } as never), 'applyPatch(): has no option "maxOperation"'],
    [
      () => applyPatch({}, [], { maxOperations: -1 }),
      'applyPatch(): maxOperations and maxCopied are numbers of at least 0',
    ],
    [() => collectStatic({ dirs: ['public'], staticRoot: 'x' } as never), 'collectStatic(): has no option "dirs"'],
  ])('of functions are, too: %s', async (call, message) => {
    await expect(async () => call()).rejects.toThrow(message)
  })
})
