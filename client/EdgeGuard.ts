/**
 * The guard of an edge: runs before every public handler, and refuses there and then.
 *
 * - G1 Nothing but the identity and the grants decides; a refused call reaches no object.
 * - G2 A stream ends when the token of its reader does.
 */
import { Clock, Effect, Layer } from "effect"
import { RpcSchema } from "effect/rpc"
import { CurrentGrants, EdgeMiddleware, grantsAllow } from "../contracts/Authorization.ts"
import { OperationDenied, Unauthenticated } from "../contracts/Errors.ts"
import type { Identity } from "./Identity.ts"

const textField = (payload: unknown, name: string): string | undefined => {
  if (typeof payload !== "object" || payload === null) return undefined
  const value = (payload as Record<string, unknown>)[name]
  return typeof value === "string" ? value : undefined
}

/** Longer than any stream stays open, and below what a timer can count. */
const longestMillis = 24 * 60 * 60 * 1000

const expiry = Effect.fnUntraced(function* (expiresAt: number) {
  const now = yield* Clock.currentTimeMillis
  yield* Effect.sleep(Math.min(Math.max(expiresAt - now, 0), longestMillis))
  return yield* new Unauthenticated({ reason: "The token has expired" })
})

/** The middleware of one invocation, which serves this identity. */
export const edgeGuard = (identity: Identity): Layer.Layer<EdgeMiddleware> =>
  Layer.succeed(EdgeMiddleware, (effect, { rpc, payload }) => {
    if (identity._tag === "Unverified") {
      return Effect.fail(new Unauthenticated({ reason: identity.reason })) // G1
    }
    const asked = {
      operation: rpc._tag,
      ownerId: textField(payload, "ownerId") ?? "",
      threadId: textField(payload, "threadId"),
    }
    if (identity._tag === "Nameless" || !grantsAllow(identity.grants, asked)) {
      return Effect.fail(new OperationDenied({ operation: rpc._tag })) // G1
    }
    const allowed = Effect.provideService(effect, CurrentGrants, identity.grants)
    return identity.expiresAt !== undefined && RpcSchema.isStreamSchema(rpc.successSchema)
      ? Effect.raceFirst(allowed, expiry(identity.expiresAt)) // G2
      : allowed
  })
