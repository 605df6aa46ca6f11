/** How much of the API an account has used: a route written by hand, of the same parts as a view set. */
import Router from '@koa/router'
import { IsAdminUser, ValidationError } from 'koa-viewsets'
import type { UsageReport } from 'koa-viewsets/metering'
import { authentication, permissions } from 'koa-viewsets/plugins'
import { schemes } from './users.js'

const DAY = 24 * 3_600_000

/** Answers staff: `GET /api/v1/usage?account=1&from=2026-01-01&to=2026-02-01`; by default the last thirty days. */
export function usageRoutes(report: UsageReport): Router {
  const router = new Router()
  return router.get('/api/v1/usage', authentication(...schemes), permissions(IsAdminUser), async (ctx) => {
    const { account, from, to } = ctx.query
    if (typeof account !== 'string') throw new ValidationError({ account: ['This field is required.'] })
    const end = readDay('to', to) ?? new Date()
    const begin = readDay('from', from) ?? new Date(end.getTime() - 30 * DAY)
    ctx.body = { account_id: account, from: begin, to: end, meters: await report.usage(account, begin, end) }
  })
}

function readDay(name: string, text: string | string[] | undefined): Date | undefined {
  if (text === undefined) return undefined
  const day = typeof text === 'string' && /^\d{4}-\d\d-\d\d$/.test(text) ? new Date(`${text}T00:00:00Z`) : undefined
  // JavaScript takes 31 February for 3 March
  if (!day || Number.isNaN(day.getTime()) || day.toISOString().slice(0, 10) !== text)
    throw new ValidationError({ [name]: ['Use the format YYYY-MM-DD.'] })
  return day
}
