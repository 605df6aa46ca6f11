import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { CollectError, collectStatic } from '../../../lib/assets/collect-static.js'
import { frame } from '../../../lib/kernel/signing.js'
import { createFolder, type Files, readFiles, writeFiles } from '../../support/files.js'

const VECTOR: Files = {
  'css/app.css': 'body{background:url("../img/logo.svg")}\n',
  'img/logo.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>\n',
  'js/app.min.js': 'console.log(1)\n',
}

/** Collects these files; returns hashed names by name, and the folder. */
async function collect(files: Files) {
  const source = createFolder(files)
  const root = join(createFolder(), 'out')
  const { manifest } = await collectStatic({ staticDirs: [source], staticRoot: root })
  return { source, root, names: Object.fromEntries(manifest.paths), hash: manifest.hash }
}

/** What is said of files that cannot be collected, with nothing published. */
async function problemsOf(staticDirs: readonly string[], root = join(createFolder(), 'out')) {
  const error = await collectStatic({ staticDirs, staticRoot: root }).catch((caught: unknown) => caught)
  expect(error).toBeInstanceOf(CollectError)
  expect(existsSync(join(root, 'staticfiles.json'))).toBe(false)
  return (error as CollectError).problems
}

const hashOf = (content: string | Buffer) => createHash('sha256').update(content).digest('hex').slice(0, 12)

describe('collectStatic', () => {
  it('gives the names, contents and manifest of the wire format', async () => {
    const source = createFolder({ 'css/app.css': VECTOR['css/app.css'] as string })
    const more = createFolder({
      'img/logo.svg': VECTOR['img/logo.svg'] as string,
      'js/app.min.js': VECTOR['js/app.min.js'] as string,
    })
    const root = join(createFolder(), 'a', 'b')
    const collected = await collectStatic({ staticDirs: [source, more], staticRoot: root })
    expect(collected).toMatchObject({ written: 6, unchanged: 0, manifest: { hash: '07dad15b2f7f' } })
    expect(readFiles(root)).toEqual({
      ...VECTOR,
      'css/app.909e52614e00.css': 'body{background:url("../img/logo.fb91f9a03c20.svg")}\n',
      'img/logo.fb91f9a03c20.svg': VECTOR['img/logo.svg'],
      'js/app.min.3879a5d930ae.js': VECTOR['js/app.min.js'],
      'staticfiles.json': `${JSON.stringify(
        {
          version: '1.1',
          paths: {
            'css/app.css': 'css/app.909e52614e00.css',
            'img/logo.svg': 'img/logo.fb91f9a03c20.svg',
            'js/app.min.js': 'js/app.min.3879a5d930ae.js',
          },
          hash: '07dad15b2f7f',
        },
        undefined,
        2,
      )}\n`,
    })
  })

  it('hashes a sheet after those it imports, so that a change reaches all of them', async () => {
    const files = { 'a.css': '@import "b.css";', 'b.css': '@import url(c.css);', 'c.css': 'p{}', 'd.css': 'p{}' }
    const before = await collect(files)
    const after = await collect({ ...files, 'c.css': 'p{color:red}' })
    for (const name of ['a.css', 'b.css', 'c.css']) expect(after.names[name]).not.toBe(before.names[name])
    expect(after.names['d.css']).toBe(before.names['d.css'])
    expect(readFileSync(join(after.root, after.names['a.css'] as string), 'utf8')).toBe(
      `@import "${after.names['b.css']}";`,
    )
  })

  it('hashes sheets that import each other in a circle over all of them, rewriting the rest first', async () => {
    const files = {
      'x/a.css': '@import "../b.css";@import "../leaf.css";i{background:url(../p.png)}',
      'b.css': '@import "x/a.css";',
      'leaf.css': 'p{}',
      'p.png': 'png',
      'outside.css': '@import "b.css";',
    }
    const { names, root } = await collect(files)
    const members = [
      'b.css',
      '@import "x/a.css";',
      'x/a.css',
      `@import "../b.css";@import "../${names['leaf.css']}";i{background:url(../${names['p.png']})}`,
    ]
    expect(names['b.css']).toBe(`b.${hashOf(frame('b.css', ...members))}.css`)
    expect(names['x/a.css']).toBe(`x/a.${hashOf(frame('x/a.css', ...members))}.css`)
    const read = (name: string) => readFileSync(join(root, names[name] as string), 'utf8')
    expect(read('b.css')).toBe(`@import "${names['x/a.css']}";`)
    expect(read('x/a.css')).toBe(
      `@import "../${names['b.css']}";@import "../${names['leaf.css']}";i{background:url(../${names['p.png']})}`,
    )
    expect(names['outside.css']).toBe(`outside.${hashOf(read('outside.css'))}.css`)
  })

  it('takes a sheet that imports itself for a circle of one', async () => {
    const { names } = await collect({ 'a.css': '@import "a.css";' })
    expect(names['a.css']).toBe(`a.${hashOf(frame('a.css', 'a.css', '@import "a.css";'))}.css`)
  })

  it('gives the same names whatever the order of folders and files', async () => {
    const one = createFolder({ 'b.css': '@import "a.css";', 'z.css': '@import "b.css";@import "a.css";' })
    const two = createFolder({ 'a.css': '@import "b.css";', 'é.png': 'x' })
    const [left, right] = await Promise.all(
      [
        [one, two],
        [two, one],
      ].map((staticDirs) => collectStatic({ staticDirs, staticRoot: join(createFolder(), 'out') })),
    )
    expect(left?.manifest).toEqual(right?.manifest)
  })

  it('leaves hidden files and back-ups out, and no temporary file behind', async () => {
    const { root, names } = await collect({ '.env': 'x', '.git/config': 'x', 'a.js~': 'x', 'a.js': 'x' })
    expect(Object.keys(names)).toEqual(['a.js'])
    expect(Object.keys(readFiles(root)).filter((name) => name.startsWith('.'))).toEqual([])
  })

  it('writes only what has changed, and again what was spoilt', async () => {
    const { source, root, names } = await collect(VECTOR)
    const run = () => collectStatic({ staticDirs: [source], staticRoot: root })
    const file = join(root, names['js/app.min.js'] as string)
    const { ino, mtimeMs } = statSync(file)
    expect(await run()).toMatchObject({ written: 0, unchanged: 6 })
    expect(statSync(file)).toMatchObject({ ino, mtimeMs })
    writeFiles(source, { 'js/app.min.js': 'console.log(2)\n' })
    utimesSync(join(source, 'js/app.min.js'), 0, 0)
    expect(await run()).toMatchObject({ written: 2, unchanged: 4 })
    expect(readFileSync(file, 'utf8')).toBe('console.log(1)\n')
    truncateSync(join(root, 'css/app.909e52614e00.css'), 3)
    expect(await run()).toMatchObject({ written: 1, unchanged: 5 })
    expect(readFileSync(join(root, 'css/app.909e52614e00.css'), 'utf8')).toContain('logo.fb91f9a03c20.svg')
  })

  it('keeps the files of the old manifest, and writes the new one when all is there', async () => {
    const { source, root, names } = await collect(VECTOR)
    const before = readFileSync(join(root, 'staticfiles.json'))
    writeFiles(source, { 'css/app.css': 'p{}' })
    await collectStatic({
      staticDirs: [source],
      staticRoot: root,
      onProgress: () => expect(readFileSync(join(root, 'staticfiles.json'))).toEqual(before),
    })
    expect(readFileSync(join(root, 'staticfiles.json'))).not.toEqual(before)
    for (const name of Object.values(names)) expect(existsSync(join(root, name))).toBe(true)
  })

  it('never shows half a manifest, or half a file, to one who reads meanwhile', async () => {
    const { source, root } = await collect({ 'big.js': 'a'.repeat(200_000) })
    let running = true
    const reading = (async () => {
      let reads = 0
      while (running) {
        const { paths } = JSON.parse(readFileSync(join(root, 'staticfiles.json'), 'utf8'))
        const content = readFileSync(join(root, paths['big.js']))
        expect(paths['big.js']).toBe(`big.${hashOf(content)}.js`)
        expect(readFileSync(join(root, 'big.js'))).toHaveLength(200_000)
        reads++
        await new Promise(setImmediate)
      }
      return reads
    })()
    for (const letter of 'bcdefghij') {
      writeFiles(source, { 'big.js': letter.repeat(200_000) })
      await collectStatic({ staticDirs: [source], staticRoot: root })
    }
    running = false
    expect(await reading).toBeGreaterThan(10)
  })

  it('can run twice at once', async () => {
    const source = createFolder(VECTOR)
    const root = join(createFolder(), 'out')
    const run = () => collectStatic({ staticDirs: [source], staticRoot: root })
    const [left, right] = await Promise.all([run(), run()])
    expect(left?.manifest).toEqual(right?.manifest)
    expect(Object.keys(readFiles(root))).toHaveLength(7)
  })

  it('tells of its progress', async () => {
    const seen: string[] = []
    const source = createFolder(VECTOR)
    const onProgress = ({ done, total }: { done: number; total: number }) => seen.push(`${done}/${total}`)
    await collectStatic({ staticDirs: [source], staticRoot: join(createFolder(), 'out'), onProgress })
    expect(seen).toEqual(['1/3', '2/3', '3/3'])
  })

  it('collects what an earlier collection has named', async () => {
    const { root } = await collect({ 'a.js': 'x' })
    const source = createFolder({ ...readFiles(root) })
    writeFiles(source, {})
    const files = readFiles(source)
    delete files['staticfiles.json']
    expect(Object.keys((await collect(files)).names)).toEqual(['a.2d711642b726.js', 'a.js'])
  })
})

describe('what collectStatic refuses, naming all of it at once', () => {
  it('two files of one name', async () => {
    const one = createFolder({ 'a.js': '1', 'b/c.js': '1' })
    const two = createFolder({ 'a.js': '2', 'b/c.js': '1' })
    expect(await problemsOf([one, two])).toEqual([
      `a.js: is both ${one}/a.js and ${two}/a.js; rename or remove one`,
      `b/c.js: is both ${one}/b/c.js and ${two}/b/c.js; rename or remove one`,
    ])
  })

  it('a file where another folder has a folder', async () => {
    const one = createFolder({ a: '1' })
    const two = createFolder({ 'a/b.js': '2' })
    expect(await problemsOf([one, two])).toEqual([`a: is both the file ${one}/a and the folder of ${two}/a/b.js`])
  })

  it("the manifest's name, and the name that another file is published under", async () => {
    const source = createFolder({ 'staticfiles.json': '{}' })
    expect(await problemsOf([source])).toEqual([`${source}/staticfiles.json: has the name of the manifest; rename it`])
    const taken = createFolder({ 'a.js': 'x', 'a.2d711642b726.js': 'y' })
    expect(await problemsOf([taken])).toEqual([
      `${taken}/a.2d711642b726.js: has the name that a.js is published under; rename it`,
    ])
  })

  it('references to what is not there, with file and line', async () => {
    const source = createFolder({
      'css/a.css': 'p{}\n@import "missing.css";\np{background:url(../../up.png)}',
      'b.css': 'p{background:url("%zz")}',
    })
    expect(await problemsOf([source])).toEqual([
      `${source}/b.css:1: "%zz" leads out of the collected files`,
      `${source}/css/a.css:2: "missing.css" names no file (css/missing.css)`,
      `${source}/css/a.css:3: "../../up.png" leads out of the collected files`,
    ])
  })

  it('[F17] links that lead out, lead nowhere, or lead round', async () => {
    const outside = createFolder({ 'secret.txt': 'secret', 'dir/x.txt': 'x' })
    const source = createFolder({ 'a.js': 'x', 'sub/b.js': 'y' })
    symlinkSync(join(outside, 'secret.txt'), join(source, '1.txt'))
    symlinkSync(join(outside, 'dir'), join(source, '2'))
    symlinkSync('nowhere', join(source, '3'))
    symlinkSync('..', join(source, 'sub/4'))
    const problems = await problemsOf([source])
    expect(problems).toEqual([
      `${source}/1.txt: links to ${outside}/secret.txt, outside the folders; copy it, or name its folder as well`,
      `${source}/2: links to ${outside}/dir, outside the folders; copy it, or name its folder as well`,
      `${source}/3: is a broken link (does not exist)`,
      `${source}/sub/4: links to a folder that holds it`,
    ])
  })

  it('folders that are not there, or overlap with the one to fill', async () => {
    const source = createFolder({ 'a.js': 'x' })
    expect(await problemsOf([join(source, 'no'), join(source, 'a.js')])).toEqual([
      `${source}/no: does not exist`,
      `${source}/a.js: is not a folder`,
    ])
    for (const root of [source, join(source, 'out'), join(source, 'deep/out')]) {
      expect(await problemsOf([source], root)).toEqual([
        `${source}: overlaps with ${root}, which it is collected into; choose a folder beside it`,
      ])
    }
    expect(Object.keys(readFiles(source))).toEqual(['a.js'])
    expect(await problemsOf([])).toEqual(['staticDirs: give at least one folder'])
  })

  it('names that no URL of ours can have', async () => {
    const source = createFolder({ 'a\\b.js': 'x', 'c:d.js': 'x' })
    expect(await problemsOf([source])).toEqual([
      `"${source}/a\\\\b.js": such a name cannot stand in a URL of ours; rename it`,
      `"${source}/c:d.js": such a name cannot stand in a URL of ours; rename it`,
    ])
  })
})

describe('a deployment that is taken back', () => {
  it('leaves no compressed sibling of the other newer than its file', async () => {
    const { source, root, names } = await collect({ 'app.js': 'one' })
    utimesSync(join(root, names['app.js'] as string), 1_000, 1_000)
    writeFiles(source, { 'app.js': 'two' })
    await collectStatic({ staticDirs: [source], staticRoot: root })
    writeFiles(root, { 'app.js.br': 'two, compressed' })
    utimesSync(join(root, 'app.js.br'), 2_000, 2_000)
    writeFiles(source, { 'app.js': 'one' })
    await collectStatic({ staticDirs: [source], staticRoot: root })
    expect(readFileSync(join(root, 'app.js'), 'utf8')).toBe('one')
    expect(statSync(join(root, 'app.js')).mtimeMs).toBeGreaterThan(statSync(join(root, 'app.js.br')).mtimeMs)
  })
})

describe('links', () => {
  it('inside the folders are followed', async () => {
    const source = createFolder({ 'real/a.js': 'x' })
    const other = createFolder({ 'b.js': 'y' })
    symlinkSync('real', join(source, 'again'))
    symlinkSync(join(other, 'b.js'), join(source, 'linked.js'))
    const root = join(createFolder(), 'out')
    const { manifest } = await collectStatic({ staticDirs: [source, other], staticRoot: root })
    expect([...manifest.paths.keys()]).toEqual(['again/a.js', 'b.js', 'linked.js', 'real/a.js'])
    expect(lstatSync(join(root, 'linked.js')).isFile()).toBe(true)
  })

  it('[F17] in the folder to fill are never written through', async () => {
    const outside = createFolder({ 'a.js': 'theirs' })
    const source = createFolder({ 'a.js': 'ours' })
    const root = createFolder()
    symlinkSync(join(outside, 'a.js'), join(root, 'a.js'))
    await collectStatic({ staticDirs: [source], staticRoot: root })
    expect(readFiles(outside)).toEqual({ 'a.js': 'theirs' })
    expect(lstatSync(join(root, 'a.js')).isFile()).toBe(true)

    const deep = createFolder({ 'sub/deep/a.js': 'ours' })
    symlinkSync(outside, join(root, 'sub'))
    await expect(collectStatic({ staticDirs: [deep], staticRoot: root })).rejects.toThrow(
      `${root}/sub: is a link that leads out of ${root}`,
    )
    expect(readFiles(outside)).toEqual({ 'a.js': 'theirs' })
  })
})

describe('a run that fails', () => {
  it('leaves the manifest as it was and no temporary file', async () => {
    const { source, root } = await collect(VECTOR)
    const before = readFileSync(join(root, 'staticfiles.json'), 'utf8')
    mkdirSync(join(root, 'new.js'))
    writeFiles(source, { 'new.js': 'x', 'css/app.css': 'p{}' })
    await expect(collectStatic({ staticDirs: [source], staticRoot: root })).rejects.toThrow('new.js')
    expect(readFileSync(join(root, 'staticfiles.json'), 'utf8')).toBe(before)
    expect(Object.keys(readFiles(root)).filter((name) => name.includes('collecting'))).toEqual([])
  })

  it.skipIf(process.getuid?.() === 0)('says which file it may not read', async () => {
    const source = createFolder({ 'a.js': 'x' })
    chmodSync(join(source, 'a.js'), 0)
    await expect(collectStatic({ staticDirs: [source], staticRoot: join(createFolder(), 'out') })).rejects.toThrow(
      `${source}/a.js`,
    )
  })
})
