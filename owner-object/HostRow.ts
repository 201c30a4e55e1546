/**
 * What is stored of a host lane: when it wants to run, when it may, and how it fared. Pure.
 *
 * It is a part of the maintenance row, so that charging a wave and committing its end write no row of their own.
 *
 * Invariants
 * - HR1 A wave is charged as a failure before it begins: one that kills its object, or outlives its life, backs off.
 * - HR2 Nothing, not even a wave that succeeds and wants the next at once, starts before its pause has passed.
 * - HR3 A wave without an offence forgives those before it; as many as are allowed, one after the other, stop the lane
 *   for the version of the code that stopped it. Another version starts it again.
 * - HR4 No wave is due at a time that nothing can count, however it came to be stored.
 */
import { delayMillis } from "../contracts/Backoff.ts"
import { millisMax } from "../contracts/Identifiers.ts"
import type { Limits } from "../contracts/Limits.ts"

export interface HostRow {
  /** When the application wants the next wave; absent for none. */
  readonly nextAt?: number
  /** No wave starts before. */
  readonly notBeforeAt?: number
  /** Waves in a row that failed, with the one under way. */
  readonly failures: number
  /** Turns that held the object for too long since the last wave without one. */
  readonly offences: number
  /** The version of the code that stopped it. */
  readonly stopped?: string
}

export const newHost: HostRow = { failures: 0, offences: 0 }

/** What an answer of the application asks for: a time later than all that are counted is never. // HR4 */
export const wishOf = (at: number | undefined): number | undefined =>
  at === undefined || at > millisMax ? undefined : Math.max(0, Math.ceil(at))

/** When a wave is due; undefined for a lane that wants none or is stopped. // HR2 HR3 */
export const hostDueAt = (row: HostRow, codeVersion: string): number | undefined => {
  const wishAt = wishOf(row.nextAt)
  return wishAt === undefined || row.stopped === codeVersion
    ? undefined
    : Math.max(wishAt, row.notBeforeAt ?? 0)
}

const backoff = (failures: number, limits: Limits): number =>
  delayMillis(
    { baseMillis: limits.hostRetryMillis, maxMillis: limits.hostRetryMaxMillis },
    failures,
  )

/** The row with one more wave under way. // HR1 */
export const chargedHost = (
  { stopped, ...row }: HostRow,
  {
    allowanceMillis,
    limits,
    now,
  }: {
    readonly allowanceMillis: number
    readonly limits: Limits
    readonly now: number
  },
): HostRow => {
  const failures = row.failures + 1
  const notBeforeAt = now + allowanceMillis + backoff(failures, limits)
  return { ...row, failures, notBeforeAt, offences: stopped === undefined ? row.offences : 0 }
}

/** The row with another wish of the application. */
export const wishing = ({ nextAt: _n, ...row }: HostRow, nextAt: number | undefined): HostRow =>
  nextAt === undefined ? row : { ...row, nextAt }

/** How a wave has ended. */
export interface WaveEnd {
  readonly succeeded: boolean
  readonly offences: number
}

/** The row after a wave. */
export const afterWave = (
  row: HostRow,
  end: WaveEnd,
  {
    codeVersion,
    limits,
    now,
  }: {
    readonly codeVersion: string
    readonly limits: Limits
    readonly now: number
  },
): HostRow => {
  const offences = end.offences === 0 ? 0 : row.offences + end.offences // HR3
  const stopped = offences >= limits.hostOffences ? { stopped: codeVersion } : {}
  const fared = end.succeeded
    ? { failures: 0, notBeforeAt: now + limits.hostPauseMillis } // HR2
    : { notBeforeAt: now + backoff(row.failures, limits) }
  return { ...row, ...fared, offences, ...stopped }
}
