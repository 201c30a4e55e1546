/**
 * `signal`, and the callback that has become one: a value passes the gate into its thread, which knows the wait.
 *
 * - D1 What could not be recorded as given is refused before anything is written.
 */
import { Effect, Result } from "effect"
import { canonicalJson } from "../contracts/CanonicalJson.ts"
import { InvalidInput } from "../contracts/Errors.ts"
import type { Limits } from "../contracts/Limits.ts"
import { below, type Caller, command, type Payload } from "./Command.ts"

/** The size of the value, or why it cannot be recorded as given. */
const measure = (payload: unknown, limits: Limits) =>
  canonicalJson(payload, {
    maxBytes: limits.recordBytes,
    maxNesting: limits.jsonNesting,
    limitName: "recordBytes",
  }).pipe(
    Result.mapError((refusal) =>
      refusal._tag === "InvalidInput"
        ? new InvalidInput({ path: `payload${below(refusal.path)}`, reason: refusal.reason })
        : refusal,
    ),
    Result.map(({ bytes }) => bytes),
  )

export const signal = (caller: Caller, payload: Payload<"signal">) =>
  Effect.flatMap(Effect.fromResult(measure(payload.payload, caller.owner.limits)), (bytes) =>
    command(caller, payload, (call) => caller.owner.threads.signal(call), { bytes }),
  ) // D1
