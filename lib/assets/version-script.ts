/** The script that reports a new version to a page, and how it gets into the page (wire format, section 8). */

import { reportError } from '../http/answer-error.js'
import { beforeHead } from '../http/before-head.js'
import type { Context } from '../http/context.js'
import { matchesWeakly } from '../http/entity-tags.js'
import { ignoreRejection } from '../kernel/realms.js'
import { type MismatchAction, readMismatchAction, setting } from '../kernel/settings.js'
import { sha256 } from './content-hash.js'

/** What a page's script does about another version; for `ignore` there is no script. */
type ScriptAction = Exclude<MismatchAction, 'ignore'>

const HTML = /^text\/html[ \t]*(?:;|$)/i
const CHARSET = /;[ \t]*charset[ \t]*=[ \t]*"?([^\s";]*)/i
const NONCE = /^[A-Za-z0-9+/_-]+={0,2}$/
const CLOSING_BODY = '</body>'

/** The characters that could end a script element or a JavaScript string. */
const UNSAFE = /[<>&\u2028\u2029]/g

/** Runs in the page. When a partial navigation brings it once more, one listener is enough. */
const watch = (action: ScriptAction) => `(function(w,d){
if(w.__serviceAppVersionWatched)return;w.__serviceAppVersionWatched=true;
var action='${action}',warned={};
function warn(server){
if(warned['v'+server])return;warned['v'+server]=true;
console.warn('This page is of version '+w.__serviceAppVersion+', the server has version '+server+'. Reload the page.');
}
function firstReload(server){
try{
var key='koa-viewsets:reloaded:'+server;
if(sessionStorage.getItem(key))return false;
sessionStorage.setItem(key,'1');
return sessionStorage.getItem(key)==='1';
}catch(error){return false}
}
d.addEventListener('ajaxnav:afterRequest',function(event){
var from=event.detail||{},server=null;
try{
server=from.xhr?from.xhr.getResponseHeader('X-App-Version'):from.response?from.response.headers.get('X-App-Version'):null;
}catch(error){}
if(!server||server===w.__serviceAppVersion)return;
var detail={current:w.__serviceAppVersion,server:server,action:action};
if(!d.dispatchEvent(new CustomEvent('koa-viewsets:version-mismatch',{cancelable:true,detail:detail})))return;
if(action==='reload'&&firstReload(server))w.location.reload();else warn(server);
});
})(window,document)`

/** The text of the script element for a version. */
export function versionScript(version: string, action: ScriptAction): string {
  return `window.__serviceAppVersion=${scriptString(version)};\n${watch(action)}`
}

/** A JSON string that can stand in a script element. */
export function scriptString(text: string): string {
  return JSON.stringify(text).replace(
    UNSAFE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

export interface VersionScriptOptions {
  /** What a page does about another version. @default the setting `appVersionMismatch`, 'reload' */
  readonly mismatch?: MismatchAction | undefined
  /** The nonce that the page's Content-Security-Policy allows scripts by. */
  readonly nonce?: ((ctx: Context) => string | undefined) | undefined
}

/** Puts the script into pages. */
export class VersionScript {
  readonly #action: MismatchAction
  readonly #nonce: (ctx: Context) => string | undefined
  #written: { readonly version: string; readonly text: string } | undefined
  #reported = false

  /** @throws ConfigurationError mismatch is no action */
  constructor({ mismatch, nonce }: VersionScriptOptions) {
    this.#action = readMismatchAction(mismatch, 'appVersion({ mismatch })') ?? setting('appVersionMismatch') ?? 'reload'
    this.#nonce = nonce ?? (() => undefined)
  }

  /** Puts the script of a version into the answer, if it is a page that takes one. */
  inject(ctx: Context, version: string): void {
    if (this.#action === 'ignore' || !takesScript(ctx)) return
    const nonce = this.#nonce(ctx)
    if (nonce !== undefined && !(typeof nonce === 'string' && NONCE.test(nonce))) {
      ignoreRejection(nonce)
      this.#report(ctx)
      return
    }
    if (isBlocked(ctx, nonce)) return
    if (this.#written?.version !== version) this.#written = { version, text: versionScript(version, this.#action) }
    injectScript(ctx, { version, script: this.#written.text, nonce })
  }

  /** Once: every page would say the same. */
  #report(ctx: Context): void {
    if (this.#reported) return
    this.#reported = true
    const error = new Error(
      'appVersion({ nonce }) has given a value that is no nonce: pages are sent without the script',
    )
    reportError(ctx, error)
  }
}

/**
 * Whether a page's Content-Security-Policy would refuse the script, as that of a page of other middleware may: such a page
 * is left alone (W3C Content Security Policy Level 3, section 6.7.3.2).
 */
function isBlocked(ctx: Context, nonce: string | undefined): boolean {
  // a header may also be a list, or be missing
  const header = [ctx.res.getHeader('Content-Security-Policy') ?? []].flat().join(',')
  return header.split(',').some((policy) => {
    const directives = new Map(
      policy.split(';').map((directive): [string, string[]] => {
        const [name = '', ...sources] = directive.trim().split(/\s+/)
        return [name.toLowerCase(), sources]
      }),
    )
    const sources = directives.get('script-src-elem') ?? directives.get('script-src') ?? directives.get('default-src')
    if (!sources || (nonce !== undefined && sources.includes(`'nonce-${nonce}'`))) return false
    return !sources.includes("'unsafe-inline'") || sources.some((source) => /^'(?:nonce|sha\d+)-/.test(source))
  })
}

/** What is put into a page. */
interface Injection {
  readonly version: string
  readonly script: string
  /** The nonce of the script element. A page that is kept would have an old one, so with a nonce it has no validator. */
  readonly nonce: string | undefined
}

/**
 * Whether this answer is a page that the script goes into: 200, `text/html` in UTF-8, not encoded, a text or a buffer with
 * a `</body>`. For HEAD, whose body may have been left out, one without a body counts too.
 */
function takesScript(ctx: Context): boolean {
  if (ctx.status !== 200 || ctx.respond === false || ctx.headerSent) return false
  const type: string = ctx.response.get('Content-Type')
  if (!HTML.test(type) || ctx.res.hasHeader('Content-Encoding')) return false
  const charset = CHARSET.exec(type)?.[1]
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) return false
  const { body } = ctx
  if (body === undefined || body === null) return ctx.method === 'HEAD'
  return isText(body) && closingBody(body) !== -1
}

/**
 * Puts the script before the page's last `</body>` and corrects the length; the page's entity tag becomes a weak one of
 * this version, and a client that has that page gets 304. The time of the page's last change says nothing of the version.
 */
function injectScript(ctx: Context, { version, script, nonce }: Injection): void {
  ctx.remove('Last-Modified')
  if (nonce !== undefined) ctx.remove('ETag')
  const tag = markTag(ctx, version)
  const { body } = ctx
  if (isText(body)) {
    const attribute = nonce === undefined ? '' : ` nonce="${nonce}"`
    // for HEAD, too: nothing of it is sent, but middleware in front of this makes the same tag of it as for GET
    ctx.body = insert(body, `<script${attribute}>${script}</script>`)
  }
  if (ctx.method === 'HEAD') dropLength(ctx)
  const known = ctx.headers['if-none-match']
  if (tag === undefined || known === undefined || !matchesWeakly(known, tag)) return
  ctx.status = 304
  ctx.body = null
}

function isText(body: unknown): body is string | Buffer {
  return typeof body === 'string' || Buffer.isBuffer(body)
}

/** Marks the page's entity tag as one of this version. */
function markTag(ctx: Context, version: string): string | undefined {
  const tag: string = ctx.response.get('ETag')
  if (tag === '') return undefined
  const [, text] = /^(?:W\/)?"([^"]*)"$/.exec(tag) ?? []
  if (text === undefined) {
    // no tag at all is right, and one that cannot be read is not
    ctx.remove('ETag')
    return undefined
  }
  const marked = `W/"${text}-${sha256(version).slice(0, 8)}"`
  ctx.set('ETag', marked)
  return marked
}

function insert(body: string | Buffer, element: string): string | Buffer {
  const position = closingBody(body)
  if (typeof body === 'string') return body.slice(0, position) + element + body.slice(position)
  return Buffer.concat([body.subarray(0, position), Buffer.from(element), body.subarray(position)])
}

/** Where the last `</body>` begins, in any case; -1 where there is none. */
function closingBody(body: string | Buffer): number {
  for (let position = body.lastIndexOf('</'); position >= 0; ) {
    const end = position + CLOSING_BODY.length
    const found = typeof body === 'string' ? body.slice(position, end) : body.toString('latin1', position, end)
    if (found.toLowerCase() === CLOSING_BODY) return position
    position = position === 0 ? -1 : body.lastIndexOf('</', position - 1)
  }
  return -1
}

/** A HEAD has no length: its handler may have left out what the script goes into. Koa sets one just before the headers leave. */
function dropLength(ctx: Context): void {
  beforeHead(ctx, () => ctx.res.removeHeader('Content-Length'))
}
