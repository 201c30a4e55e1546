/**
 * The one retry curve: doubling from a base to a maximum, with jitter in [b/2, b] where asked for.
 * Pure; `random` is a number in [0, 1) that the caller drew.
 */

export interface Curve {
  readonly baseMillis: number
  readonly maxMillis: number
}

/** `base · 2^(attempt − 1)`, at most the maximum. `attempt` counts from 1. */
export const delayMillis = (curve: Curve, attempt: number): number =>
  Math.min(curve.maxMillis, curve.baseMillis * 2 ** Math.min(Math.max(attempt - 1, 0), 30))

/** The same, spread over [b/2, b] so that many lanes do not come back at one instant. */
export const jitteredMillis = (curve: Curve, attempt: number, random: number): number => {
  const delay = delayMillis(curve, attempt)
  return Math.ceil(delay / 2 + (delay / 2) * random)
}
