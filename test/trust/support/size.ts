/**
 * How long the runs of the trust suite are: short in `npm test`, long in `npm run test:trust`. TRUST_SCALE shrinks the
 * long sizes, to try them: at 0.02 a run of 10,000 has 200.
 */
import { appendFileSync } from 'node:fs'

const { TRUST, TRUST_SCALE, TRUST_SEED, TRUST_REPORT } = process.env
const scale = Number(TRUST_SCALE ?? 1)

/** True for the long sizes. */
export const isLong = TRUST === 'long'

/** The size of a run. */
export const size = (short: number, long: number): number => (isLong ? Math.max(1, Math.round(long * scale)) : short)

/** What a run's random data comes from: the same in each short run, another in each long one. TRUST_SEED repeats a run. */
export const seed = Number(TRUST_SEED ?? (isLong ? Date.now() % 2 ** 31 : 1))

/** Adds a run's figures to the table that ends the output of all runs. */
export function report(run: string, figures: Readonly<Record<string, string | number>>): void {
  const cells = Object.entries(figures).map(([name, value]) => `${name} ${value}`)
  const line = `| ${run} | ${cells.join(' · ')} |\n`
  if (TRUST_REPORT === undefined) process.stdout.write(line)
  else appendFileSync(TRUST_REPORT, line)
}
