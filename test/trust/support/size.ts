/** How long the runs of the trust suite are: short in `npm test`, long in `npm run test:trust`. */

const { TRUST, TRUST_SEED } = process.env

/** True for the long sizes. */
export const isLong = TRUST === 'long'

/** The size of a run. */
export const size = (short: number, long: number): number => (isLong ? long : short)

/** What a run's random data comes from; TRUST_SEED repeats a run. */
export const seed = Number(TRUST_SEED ?? Date.now() % 2 ** 31)

/** Prints a run's figures as a line of a table. */
export function report(run: string, figures: Readonly<Record<string, string | number>>): void {
  const cells = Object.entries(figures).map(([name, value]) => `${name} ${value}`)
  process.stdout.write(`| ${[run.padEnd(14), ...cells].join(' | ')} |\n`)
}
