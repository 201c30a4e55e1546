/**
 * How many calls a principal may make: asked of the platform's rate limiter, before a call is looked at.
 *
 * - L1 A call that is one too many has run nothing, and may be repeated after a pause. Our clients do not by themselves.
 * - L2 A limiter that fails, or does not answer soon, lets calls pass: it protects the service and must not end it.
 */
import { Effect } from "effect"
import { Unavailable } from "../contracts/Errors.ts"
import type { Limits } from "../contracts/Limits.ts"
import { describeThrown } from "../contracts/Thrown.ts"

/** What a `[[ratelimits]]` binding of a Worker is. */
export interface RateLimiter {
  readonly limit: (options: { readonly key: string }) => Promise<{ readonly success: boolean }>
}

/** Whether one more call may be made now; counts it. Never rejects. */
export type Admission = () => Promise<boolean>

export const tooMany = new Unavailable({
  retryable: true, // L1
  overloaded: true,
  reason: "This principal makes too many calls",
})

/** The shorter one of the periods that the platform's limiter counts in. */
export const retryAfterSeconds = 10

/** Counts a call under a key, that of a principal mostly, and tells whether it may be made. */
export const admitted = (
  limiter: RateLimiter,
  key: string,
  { rateLimitMillis }: Limits,
): Effect.Effect<boolean> =>
  Effect.tryPromise({
    try: async () => {
      const { success } = await limiter.limit({ key })
      if (typeof success === "boolean") return success
      throw new TypeError("No answer of a limiter")
    },
    catch: describeThrown,
  }).pipe(
    Effect.timeoutOrElse({
      duration: rateLimitMillis,
      orElse: () => Effect.fail("no answer"),
    }),
    // L2
    Effect.catch((why) => Effect.as(Effect.logWarning(`The rate limiter failed: ${why}`), true)),
  )

/** The same, of which the first call has been counted already. */
export const prepaid = (admission: Admission): Admission => {
  let first = true
  return () => {
    if (!first) return admission()
    first = false
    return Promise.resolve(true)
  }
}
