/**
 * What an author declares about tries and times, read once and checked: everything after this file
 * computes with finite numbers.
 *
 * - T1 Reading never throws: a policy that means nothing is refused in words.
 * - T2 No delay is longer than the limit, so that a time to try again is one the wire can say.
 */
import { Duration, Result } from "effect"
import type { Limits } from "../contracts/Limits.ts"

/** Tries again after a failure: `times` more tries, `delay` growing by `factor` up to `maxDelay`. */
export interface RetryPolicy {
  /** A natural number. */
  readonly times: number
  /** Default 100 ms. A delay above 1 s ends the attempt; the run goes on at its `dueAt`. */
  readonly delay?: Duration.Input
  /** Default 2; finite, not negative. */
  readonly factor?: number
  /** Default 5 min; 30 days are the most that is waited. */
  readonly maxDelay?: Duration.Input
}

/** A policy in milliseconds. */
export interface Retries {
  readonly times: number
  readonly delayMillis: number
  readonly factor: number
  readonly maxDelayMillis: number
}

const isNatural = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0

const isMagnitude = (value: unknown): boolean => Number.isFinite(value) && Number(value) >= 0

/** Whether the numbers of an input are ones; the library takes those that are none for zero. */
const isStated = (input: Duration.Input): boolean => {
  if (typeof input === "number") return isMagnitude(input)
  if (typeof input !== "object" || Duration.isDuration(input)) return true
  return Object.values(input).every(isMagnitude)
}

/** Milliseconds of a duration that is finite and not negative. */
export const readDuration = (
  name: string,
  input: Duration.Input,
): Result.Result<number, string> => {
  try {
    const millis = Duration.toMillis(Duration.fromInputUnsafe(input))
    if (isStated(input) && isMagnitude(millis)) return Result.succeed(millis)
  } catch {
    // Told below like any other: what it was is not repeated.
  }
  return Result.fail(`${name} must be a duration, finite and not negative`) // T1
}

/** The policy as numbers, or what is wrong with it. */
export const readRetry = (policy: RetryPolicy): Result.Result<Retries, string> => {
  try {
    const { times, delay = 100, factor = 2, maxDelay = Duration.minutes(5) } = policy
    if (!isNatural(times)) return Result.fail("retry.times must be a natural number")
    if (!isMagnitude(factor))
      return Result.fail("retry.factor must be a number, finite and not negative")
    const base = readDuration("retry.delay", delay)
    if (Result.isFailure(base)) return Result.fail(base.failure)
    const maximum = readDuration("retry.maxDelay", maxDelay)
    if (Result.isFailure(maximum)) return Result.fail(maximum.failure)
    return Result.succeed({
      times,
      delayMillis: base.success,
      factor,
      maxDelayMillis: maximum.success,
    })
  } catch {
    return Result.fail("the retry policy cannot be read") // T1
  }
}

/** The delay before the `retry`-th try after the first, from 1. Milliseconds, an integer. */
export const retryDelayMillis = (retries: Retries, retry: number, limits: Limits): number => {
  const { delayMillis, factor, maxDelayMillis } = retries
  const maximum = Math.min(maxDelayMillis, limits.retryDelayMaxMillis) // T2
  if (delayMillis === 0) return 0
  return Math.ceil(Math.min(maximum, delayMillis * factor ** Math.min(retry - 1, 60)))
}
