/**
 * How far the deployment's clock is from the reader's, from the `date` of its answers. Pure.
 *
 * - K1 It changes only when an answer contradicts it: a `date` is a whole second, and an answer takes its time.
 */

export interface Answer {
  /** The answer's `date`; not a number where it has none. */
  readonly dateMillis: number
  /** By the reader's clock. */
  readonly sentAt: number
  readonly cameAt: number
}

const second = 1_000

/** What is added to the reader's clock. */
export const skewOf = (before: number, { cameAt, dateMillis, sentAt }: Answer): number => {
  const least = dateMillis - cameAt
  const most = dateMillis + second - sentAt
  // No date, or a clock that was set while the answer was on its way.
  if (!(least <= most)) return before
  return Math.min(most, Math.max(least, before)) // K1
}
