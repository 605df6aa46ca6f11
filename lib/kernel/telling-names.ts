/** Names that sound like secrets, power, owners and tenants: the one list of such words, for warnings and for `init` (promise A10). */
import { snakeCase } from './naming.js'

/** What is known of a column. */
export interface NamedColumn {
  readonly name: string
  /** PostgreSQL's name of its type; undefined for one that may hold texts. */
  readonly type?: string | undefined
}

/** What is known of its table. */
export interface KnownTable {
  /** Its rows are people who log in, or what they are in a team. */
  readonly isOfUsers: boolean
  /** Its rows are sessions, tokens, codes or keys: who has one is let in. */
  readonly isOfSecrets: boolean
  /** Its rows say who may do what. */
  readonly isOfPower: boolean
  /** Its rows are worth something to whoever has their code. */
  readonly isOfValue: boolean
}

const PLAIN: KnownTable = { isOfUsers: false, isOfSecrets: false, isOfPower: false, isOfValue: false }

/** Secrets, wherever the word stands in a name. */
const SECRETS =
  wordSet(`pass pw pin jwt otp totp hotp otep salt hash cvv cvc csc ha1 ha1b ha2 hashed crypted encrypted ciphertext
  crypt bcrypt scrypt htpasswd akey privkey psk`)
/** Secrets, whatever stands before them without a separator: `authtoken`, `privatekey`. */
const SECRET_END = new RegExp(
  `(?:password|passwd|passwort|passphrase|passcode|pwd|secret|token|credential|(?:pass|pw)(?:word)?hash|${'(?:api|private|secret|access|session|auth|hmac|signing|encryption|activation|act|server|stored|license)key'})$`,
)
/** `passwordhash`, not `passwordless`. */
const SECRET_START = /^(?:password|passwd|passphrase)(?!less)/
const SECRET_NAME = /^activation$|(?:^|_)(?:code_verifier|security_stamp|(?:recovery|seed)_phrase)$/
/** A second factor: of it, what is no secret is power, as who can switch it off needs one factor only. */
const FACTORS = wordSet('mfa 2fa tfa twofa twofactor totp otp hotp u2f')
/** Secrets before `key`. */
const SECRET_KEYS =
  wordSet(`api private secret access signing encryption decryption session auth authentication hmac mac recovery
  activation license licence reset confirmation verification server stored master shared webhook totp otp remember service
  rss feed atom hashed encrypted consumer unlock login`)
/** Secrets before `code`. */
const SECRET_CODES =
  wordSet(`auth authorization authorisation authentication access activation backup recovery reset verification verify
  verifying confirmation confirm invitation invite login signin signup otp sms totp mfa 2fa tfa twofa pin pass password security
  secret unlock persist hashed encrypted email validation challenge join redemption gift door gate scratch rescue emergency blocked`)
/** No secrets before `code`, even in tables of people. */
const PUBLIC_CODES =
  wordSet(`country postal post zip area currency language lang locale iso dial dialing dialling calling phone region
  state province city county tax vat department dept cost center centre branch bank sort swift bic employee staff customer
  member student product item sku status error response airport color colour category industry sic naics nationality gender
  title timezone zone district provider promo coupon discount referral affiliate account source reason type unit course job
  role position grade territory company organization organisation client vendor supplier payroll location site store ref
  reference nation town street prefix fiscal rating price customs`)
/** Names of contents, before `hash`. */
const CONTENT_HASHES =
  wordSet(`commit content file block tx transaction image git blur tree merkle body url uri query schema row media
  geo source document chunk config asset article text photo picture page object blob layer package build torrent parent state
  event template sql script`)
/** Ends of names that say something about a secret, and are none. */
const ABOUT =
  wordSet(`url uri endpoint type kind changed at on expires expiry expiration expire expired count enabled disabled required
  needed algorithm algo alg method id name length size lifetime ttl policy strength issuer date time until ts format provider
  status state level iteration iter rounds sent verified set scheme version updated created used usage limit budget attempt
  failure request field header param parameter column attribute label description title audience source location mode setting
  option prompt reason strategy rate ratio mark cost price score index rotated revoked confirmed optional grade failed valid
  validity duration interval timeout position order min max total optin seconds minutes hours days color colour language
  enrolled suspended scope in identity`)
/** Beginnings of names that ask, count or choose. */
const ASKING =
  /^(?:is|has|must|can|may|force|show|hide|skip|use|uses|allow|enable|disable|require|send|should|max|min|num|total)_/
const PUBLIC_KEY = /(?:^|_)(?:public|publishable)_key$/
/** Types that hold no secret. */
const PLAIN_TYPES = new Set(
  [
    'bool date time timetz timestamp timestamptz interval float4 float8 enum money',
    'point box circle inet cidr tsvector',
  ]
    .join(' ')
    .split(' '),
)
const NUMBER_TYPES = new Set(['int2', 'int4', 'int8', 'numeric'])
/** What a number is that is a secret: not how many `tokens` there are. */
const SECRET_NUMBER = /(?:^|_)(?:pin|t?otp|passcode|password|pass|pwd|pw|secret|token|cvv|cvc|csc|code)$/
/** Secrets in tables of sessions and tokens. */
const SECRET_PARTS =
  /^(?:(?:session|sess|oauth|token)_)?(?:key|data|payload|sess|session|sid|value|nonce|challenge|vars)$/
/** What lets in whoever has it, where a table's name ends in it. */
const SECRET_TABLES = wordSet(
  `token otp totp mfa invitation invite credential secret apikey webauthn passkey twofactor jwt`,
)
/** Where one of its words is that. */
const LOGIN_TABLES = wordSet('oauth oauth2 oidc webauthn totp mfa')
/** What may be something else: known by its columns. */
const PERHAPS_SECRET = wordSet('session verification password token invite invitation secret')
const SESSION_KEY = /^(?:id|sid|uuid|(?:sess|session)_?(?:id|key|uuid))$/
/** What sessions of a login have, and those of a conference have not. */
const SESSION_PART = /expire|payload|agent|^ip|_ip$|^sess$|^data$|^vars$|activity|last_seen/
const TEXT_TYPES = new Set(['text', 'varchar', 'bpchar', 'bytea', 'uuid', 'citext'])

/** People, where a table's name ends in the word. */
const USERS =
  wordSet(`user usr account acct admin administrator member membership login moderator operator principal identity profile
  collaborator`)
const USERS_END = /(?:user|usr|member|account|login)$/
/** What may stand behind it. */
const USER_PARTS = wordSet('auth profile info detail data account extra base core list view login')
/** What only people who log in have. */
const LOGIN = /(?:^|_)(?:ha1|pass|pw)(?:_|$)|passw|pass_?(?:phrase|code|hash)|pwd/
/** What they say with it: a password without one is of what the row connects to. */
const LOGIN_NAME = /(?:^|_)(?:e_?mail|user_?name|login|nick)(?:_|$)/
const POWER_TABLES = wordSet('role permission privilege acl capability entitlement')

/** What is worth something: cards, certificates and codes that somebody pays with, or pays less. */
const VALUE_TABLE =
  /(?:^|_)(?:e?_?gift(?:_?(?:card|certificate|voucher|code))?|e?_?voucher|coupon|(?:promo|promotion|discount|coupon|voucher|recharge|redemption|scratch|prepaid|top_?up)_?(?:card|code))$/
/** The code of such a row, and the number of a card. */
const VALUE_CODE =
  /^(?:(?:e_?)?(?:gift|card|gift_?card|certificate|voucher|coupon|promo|promotion|discount|recharge|redemption|scratch|prepaid|top_?up|unique|redeem)_)*(?:code|card_number)$/

/** Power, wherever the word stands in a name, in any table. */
const POWER = wordSet(
  'role permission perms privilege priv acl entitlement superuser superadmin sysadmin balance clearance',
)
const POWER_NAME =
  /(?:^|_)(?:(?:access|security)_levels?|credit_limit|credits|super_(?:user|admin)|scopes)$|^(?:subscription_|billing_|pricing_|price_)?plan(?:_(?:id|name|code|type|tier))?$/
/** Power, where it is a yes or a no. */
const POWER_FLAG = /^(?:is_?)?(?:staff|admin|administrator|super_?user|root|owner|moderator|privileged|trusted)$/
/** Power, wherever the word stands in a name, in tables of people. */
const POWER_OF_USERS =
  wordSet(`admin administrator staff moderator root owner scope grp usergroup plan tier rank trust trusted credit
  points karma reputation wallet cash quota limit vip auth sso ldap saml scim oauth oidc openid provider access grant privileged
  subscription trial license licence failed attempt lockout spammer curator capability ability impersonated uid sub issuer`)
const FACTOR_NAME = /(?:two|multi)_factor/
/** `roleid` */
const CLOSE_ID = /(?<=[a-z]{4})id$/
const POWER_NAME_OF_USERS =
  /^(?:is|can|may|must|force)_|app_meta_?data$|^(?:user_?)?groups?(?:_ids?)?$|^(?:(?:user|account|actor|member|login)_?)?(?:type|kind|state|status|level)$|_level$/
/** What an account is, or an address of it. */
const STATES =
  wordSet(`verified confirmed approved activated active enabled disabled banned ban blocked suspended suspension locked lock block
  inactive deactivated deleted silenced sensitized shadow limited moderated`)
const SUBJECTS = wordSet('email mail phone mobile number account user login identity kyc is')

const OWNERS = [
  /^(?:owner|owned_by)(?:_id|_uuid|_user_id)?$|^ownerid$/,
  /^(?:creator|created_by)(?:_id|_uuid|_user_id)?$|^creatorid$/,
  /^author(?:_id|_uuid)?$|^authorid$/,
  /^(?:user|usr)(?:_?id|_uuid)?$/,
  /^(?:uploader|submitter|poster|requester|(?:uploaded|submitted|posted|added|requested|reported)_by)(?:_id)?$/,
]
const TENANT = /^(?:tenant|organi[sz]ation|org|account|company|workspace|team|agency|firm)(?:_?(?:id|uuid))?$/
/** What ends as keys do may be a text; `author` and `company` are names then. */
const KEY_NAME = /(?:id|uuid|_by)$/
const KEY_TYPES = new Set(['int2', 'int4', 'int8', 'uuid'])

/** True for `password_hash`, `authtoken` and `recovery_codes`; not for `hashtag`, `token_type`, or a number of `tokens`. */
export function isSecretName({ name, type = 'text' }: NamedColumn, table: KnownTable = PLAIN): boolean {
  const snake = normal(name)
  if (PLAIN_TYPES.has(type) || (NUMBER_TYPES.has(type) && !SECRET_NUMBER.test(snake))) return false
  if (ASKING.test(snake) || PUBLIC_KEY.test(snake)) return false
  const words = wordsOf(snake)
  const last = words.at(-1) as string
  // the URL that makes an authenticator's app has the secret
  const isShown = /^ur[il]$/.test(last) && words.some((word) => FACTORS.has(word))
  if (words.length > 1 && ABOUT.has(last)) return isShown
  return (
    SECRET_NAME.test(snake) ||
    (table.isOfSecrets && SECRET_PARTS.test(snake)) ||
    (table.isOfValue && VALUE_CODE.test(words.join('_'))) ||
    words.some((word, at) => isSecretWord(word, words[at - 1], at === words.length - 1 ? table : PLAIN))
  )
}

function isSecretWord(word: string, before: string | undefined, table: KnownTable): boolean {
  if (word === 'hash') return before === undefined || !CONTENT_HASHES.has(before)
  if (word === 'key') return before !== undefined && SECRET_KEYS.has(before)
  if (word === 'code') {
    const isTold = before !== undefined && SECRET_CODES.has(before)
    return isTold || ((table.isOfUsers || table.isOfSecrets) && !PUBLIC_CODES.has(before ?? ''))
  }
  return SECRETS.has(word) || FACTORS.has(word) || SECRET_END.test(word) || SECRET_START.test(word)
}

/** True for what says who may do more, or what somebody has paid for: `role`, `permissions`, and `is_active` of a user. */
export function isPowerName({ name, type = 'text' }: NamedColumn, table: KnownTable): boolean {
  const snake = normal(name)
  const words = wordsOf(snake)
  if (words.some((word) => POWER.has(word)) || POWER_NAME.test(snake)) return true
  if (type === 'bool' && POWER_FLAG.test(snake)) return true
  if (words.some((word) => FACTORS.has(word))) return true
  if (!table.isOfUsers || words[0] === 'last' || words[0] === 'current') return false
  return (
    POWER_NAME_OF_USERS.test(snake) ||
    isTenant({ name, type }) ||
    words.some(
      (word, at) =>
        POWER_OF_USERS.has(word) || (STATES.has(word) && (at === 0 || SUBJECTS.has(words[at - 1] as string))),
    )
  )
}

/** Of columns, the one that is most likely to say whose row it is. */
export function ownerOf(columns: readonly NamedColumn[]): string | undefined {
  const keys = columns.filter(isKey)
  return OWNERS.flatMap((pattern) => keys.filter(({ name }) => pattern.test(snakeCase(name))))[0]?.name
}

/** Of columns, the one that says to which tenant a row belongs. */
export function tenantOf(columns: readonly NamedColumn[]): string | undefined {
  const found = columns.filter(isTenant)
  return (found.find(({ name }) => /tenant/i.test(name)) ?? found[0])?.name
}

function isTenant(column: NamedColumn): boolean {
  return TENANT.test(snakeCase(column.name)) && isKey(column)
}

function isKey({ name, type = 'text' }: NamedColumn): boolean {
  return KEY_TYPES.has(type) || (KEY_NAME.test(snakeCase(name)) && TEXT_TYPES.has(type))
}

/** What a table's name, and those of its columns, tell of it. */
export function tableKindOf(table: string, columns: readonly NamedColumn[]): KnownTable {
  const words = wordsOf(table)
  const [before = '', last = ''] = ['', ...words].slice(-2)
  const letIn = { ...PLAIN, isOfSecrets: true }
  const hasSecret = () => columns.some((one) => isSecretName(one, letIn) || isSessionKey(one, { table, columns }))
  const isOfSecrets =
    SECRET_TABLES.has(last) ||
    words.some((word) => LOGIN_TABLES.has(word)) ||
    (last === 'key' && SECRET_KEYS.has(before)) ||
    (last === 'code' && SECRET_CODES.has(before)) ||
    (words.some((word) => PERHAPS_SECRET.has(word)) && hasSecret())
  const isUser = (word: string) => USERS.has(word) || USERS_END.test(word)
  const hasPassword = columns.some((one) => LOGIN.test(snakeCase(one.name)) && isSecretName(one))
  const logsIn = hasPassword && columns.some(({ name }) => LOGIN_NAME.test(snakeCase(name)))
  const isOfUsers = isUser(last) || (isUser(before) && USER_PARTS.has(last)) || logsIn
  const isOfValue = VALUE_TABLE.test(words.join('_'))
  return { isOfUsers: isOfUsers && !isOfSecrets, isOfSecrets, isOfPower: POWER_TABLES.has(last), isOfValue }
}

/** True for the key of a login's session, if nothing else of it is what its owner shows to be let in. */
export function isSessionKey(
  { name, type = 'text' }: NamedColumn,
  { table, columns }: { readonly table: string; readonly columns: readonly NamedColumn[] },
): boolean {
  const snake = snakeCase(name)
  if (wordsOf(table).at(-1) !== 'session' || !SESSION_KEY.test(snake) || !TEXT_TYPES.has(type)) return false
  return !columns.some((one) => isSecretName(one)) && columns.some((one) => SESSION_PART.test(snakeCase(one.name)))
}

function normal(name: string): string {
  return snakeCase(name).replace(FACTOR_NAME, 'mfa').replace(CLOSE_ID, '_id')
}

/** The words of a name, in the singular and without a number behind them. */
function wordsOf(name: string): readonly string[] {
  return snakeCase(name).split('_').map(singular)
}

function singular(word: string): string {
  if (/(?:ss|us|is)$/.test(word)) return word
  if (word.endsWith('ies')) return `${word.slice(0, -3)}y`
  return word.replace(/(?<=(?:ss|sh|ch|x))es$|s$/, '')
}

function wordSet(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/).map(singular))
}
