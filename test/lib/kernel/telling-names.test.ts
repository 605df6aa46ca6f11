import { describe, expect, it } from 'vitest'
import { isPowerName, isSecretName, ownerOf, tableKindOf, tenantOf } from '../../../lib/kernel/telling-names.js'
import { TOKEN_COLUMNS, type ToldColumns, USER_COLUMNS } from './user-columns.js'

const namesOf = (text: string) => text.split(' ').filter((name) => name !== '')

describe.each([
  ['people', USER_COLUMNS],
  ['tokens', TOKEN_COLUMNS],
])('columns of tables of %s in public schemas', (_, tables) => {
  it.each(Object.entries(tables))('%s', (_, { table, ...told }) => {
    const names = namesOf(`${told.secret} ${told.power} ${told.plain}`)
    const kind = tableKindOf(
      table,
      names.map((name) => ({ name })),
    )
    const found: Record<string, string[]> = { secret: [], power: [], plain: [] }
    for (const name of names) {
      found[isSecretName({ name }, kind) ? 'secret' : isPowerName({ name }, kind) ? 'power' : 'plain']?.push(name)
    }
    const wanted = { secret: namesOf(told.secret), power: namesOf(told.power), plain: namesOf(told.plain) }
    expect(found).toEqual(wanted satisfies Record<keyof Omit<ToldColumns, 'table'>, string[]>)
  })
})

it.each([
  'password,password_hash,apiToken,APISecret,salt,api_key,PrivateKey,access_keys,totp,tokens,secrets,id_tokens',
  'rotated_hashes,authtoken,privatekey,authpassphrase,user_newpassword,pass_crypt,pass,pw,pin,ha1,hashed_code,auth_code',
  'code_verifier,hmac_key,jwt,session_key,otp,mfa_seed,two_factor_secret,hash,recovery_codes,passwordhash,otp_url',
])('%s sound like secrets', (names) => {
  expect(names.split(',').filter((name) => !isSecretName({ name }))).toEqual([])
})

it.each([
  'hashtag,key,api,monkey,primary_key,secretary,salted,passwordless,constructor,compass,passenger,spin,pinned,passed',
  'token_url,token_type,password_changed,password_changed_at,token_expires_at,must_change_password,public_key,country_code',
  'publishable_key,content_hash,commit_hash,product_code,code,code_challenge,credential_id,max_tokens,otp_enabled,has_password',
])('%s do not', (names) => {
  expect(names.split(',').filter((name) => isSecretName({ name }))).toEqual([])
})

it.each([
  ['gift_cards', 'code,gift_card_code,card_number,codes'],
  ['giftCards', 'code'],
  ['e_vouchers', 'code,voucher_code'],
  ['coupons', 'code,couponCode'],
  ['promo_codes', 'code,promo_code'],
  ['shop_gift_certificates', 'code,certificate_code'],
])('the codes of %s are worth something: %s', (table, names) => {
  const kind = tableKindOf(table, [])
  expect(names.split(',').filter((name) => !isSecretName({ name }, kind))).toEqual([])
  const plain = 'currency_code,country_code,name,amount,code_type,expires_at,product_code,number'
  expect(plain.split(',').filter((name) => isSecretName({ name }, kind))).toEqual([])
})

it('shows the codes of what is worth nothing', () => {
  for (const table of ['gifts_received_at', 'products', 'countries', 'orders', 'cards', 'giftable_items']) {
    expect([table, isSecretName({ name: 'code' }, tableKindOf(table, []))]).toEqual([table, false])
  }
  expect(isSecretName({ name: 'coupon_code' }, tableKindOf('orders', []))).toBe(false)
})

it('takes what cannot hold a secret for none, by its type', () => {
  const are = (type: string, ...names: string[]) => names.filter((name) => isSecretName({ name, type }))
  expect(are('bool', 'password', 'secret')).toEqual([])
  expect(are('timestamptz', 'password', 'token')).toEqual([])
  expect(are('int4', 'tokens', 'input_tokens', 'hash', 'salt', 'pin', 'reset_token')).toEqual(['pin', 'reset_token'])
})

it.each([
  [
    'users',
    'role,roles,permissions,scopes,access_level,plan,balance,is_anything,verified,status,organization_id,mfa_enabled',
  ],
  ['orders', 'role,role_id,roles,permissions,scopes,plan_id,balance,access_level'],
])('no client of %s writes %s', (table, names) => {
  const kind = tableKindOf(table, [])
  expect(names.split(',').filter((name) => !isPowerName({ name }, kind))).toEqual([])
})

it('leaves what is no power alone', () => {
  const names = 'title,status,type,is_published,verified,organization_id,email,active,description,staff_id'.split(',')
  expect(names.filter((name) => isPowerName({ name }, tableKindOf('orders', [])))).toEqual([])
  const own = 'name,email,phone,country_code,last_active_at,avatar_content_type,infinite_scroll_enabled,company'.split(
    ',',
  )
  expect(own.filter((name) => isPowerName({ name }, tableKindOf('users', [])))).toEqual([])
})

it.each([
  ['app_users', ['id'], 'isOfUsers'],
  ['patients', ['id', 'email', 'password_hash'], 'isOfUsers'],
  ['session', ['sid', 'sess', 'expire'], 'isOfSecrets'],
  ['api_keys', ['id', 'label'], 'isOfSecrets'],
  ['user_roles', ['user_id', 'role_id'], 'isOfPower'],
])('tells by %s with %j that it %s', (table, columns, kind) => {
  const told = tableKindOf(
    table,
    columns.map((name) => ({ name })),
  )
  expect(Object.entries(told).filter(([, is]) => is)).toEqual([[kind, true]])
})

it('takes what has the password of something else for no people', () => {
  const columns = ['id', 'name', 'password', 'type'].map((name) => ({ name }))
  expect(tableKindOf('items', columns).isOfUsers).toBe(false)
})

it('takes the sessions of a conference for what they are', () => {
  expect(tableKindOf('sessions', [{ name: 'id', type: 'uuid' }, { name: 'title' }, { name: 'room' }]).isOfSecrets).toBe(
    false,
  )
})

it('finds owners and tenants among keys', () => {
  const typed = (type: string, names: string) => names.split(',').map((name) => ({ name, type }))
  expect(ownerOf(typed('int4', 'id,user_id,created_by,owner_id'))).toBe('owner_id')
  expect(ownerOf(typed('uuid', 'id,authorid,user_id'))).toBe('authorid')
  expect(ownerOf(typed('text', 'author,owner,title'))).toBe(undefined)
  expect(tenantOf(typed('int4', 'id,account_id,tenant_id'))).toBe('tenant_id')
  expect(tenantOf(typed('uuid', 'id,organisation_id'))).toBe('organisation_id')
  expect(tenantOf(typed('text', 'company,team'))).toBe(undefined)
})
