/**
 * The guard of an edge: decides by the grants, and refuses there and then.
 *
 * - G1 Nothing but the grants decides; a refused call reaches no object.
 * - G2 A stream ends with the token of its reader, also one that does not end itself or whose reader takes nothing.
 */
import { Effect, Layer } from "effect"
import { RpcSchema } from "effect/rpc"
import {
  CurrentGrants,
  EdgeMiddleware,
  type Grants,
  grantsAllow,
  grantsOperation,
} from "../contracts/Authorization.ts"
import { OperationDenied } from "../contracts/Errors.ts"
import { namedThreads } from "../contracts/NamedThreads.ts"
import type { Verified } from "./Identity.ts"
import { tokenEnd } from "./TokenEnd.ts"

const textField = (payload: unknown, name: string): string | undefined => {
  if (typeof payload !== "object" || payload === null) return undefined
  const value = (payload as Record<string, unknown>)[name]
  return typeof value === "string" ? value : undefined
}

/** Operations that are about every owner, and need a grant for all of them. */
const ofAllOwners: ReadonlySet<string> = new Set(["listOwners"])

/** The threads it is about; one that is undefined stands for all of them. */
const threadsOf = (operation: string, payload: unknown): ReadonlyArray<string | undefined> => {
  const named = namedThreads(operation, payload)
  if (named === undefined) return [textField(payload, "threadId")]
  return named.length === 0 ? [undefined] : named
}

const isDenied = (grants: Grants, operation: string, payload: unknown): boolean => {
  const ownerId = ofAllOwners.has(operation) ? undefined : (textField(payload, "ownerId") ?? "")
  return threadsOf(operation, payload).some(
    (threadId) => !grantsAllow(grants, { operation, ownerId, threadId }),
  )
}

/**
 * Whether a payload that nobody has decoded yet asks for what the grants do not name. One that names
 * no owner asks for nothing yet: it will not decode, and its caller may be told why.
 */
export const isDeniedUnread = (grants: Grants, operation: string, payload: unknown): boolean =>
  textField(payload, "ownerId") === undefined && !ofAllOwners.has(operation)
    ? !grantsOperation(grants, operation)
    : isDenied(grants, operation, payload)

/** How long after the end of its token a stream may take to say where to go on. */
const graceMillis = 1_000

/** The middleware of one invocation, which serves this identity: runs before every handler. */
export const edgeGuard = ({ expiresAt, grants }: Verified): Layer.Layer<EdgeMiddleware> =>
  Layer.succeed(EdgeMiddleware, (effect, { rpc, payload }) => {
    if (isDenied(grants, rpc._tag, payload)) {
      return Effect.fail(new OperationDenied({ operation: rpc._tag })) // G1
    }
    const allowed = Effect.provideService(effect, CurrentGrants, grants)
    return expiresAt !== undefined && RpcSchema.isStreamSchema(rpc.successSchema)
      ? Effect.raceFirst(allowed, tokenEnd(expiresAt, graceMillis)) // G2
      : allowed
  })
