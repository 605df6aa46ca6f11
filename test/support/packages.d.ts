/** Koa 2 beside Koa 3, under another name. */
declare module 'koa2' {
  export { default } from 'koa'
}
