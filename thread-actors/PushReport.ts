/**
 * The push: what a thread tells its owner by itself, when an attempt ends that its call did not see end.
 * A hint: it may be lost, and the owner's own look finds the same later.
 */
import { Effect } from "effect"
import { describeThrown } from "../contracts/Thrown.ts"
import { callerHeaders } from "../contracts/Authorization.ts"
import { OwnerRpc } from "../contracts/OwnerRpc.ts"
import { makeWireClient } from "../contracts/transport/WireClient.ts"
import { anyReport } from "./AnyReport.ts"
import { durable } from "./Durable.ts"
import type { Identity } from "./Identity.ts"
import type { Thread } from "./Thread.ts"

/** Reports to the owner. Whatever fails is logged and forgotten. */
export const pushReport = (thread: Thread, identity: Identity): Effect.Effect<void> =>
  Effect.gen(function* () {
    const report = yield* durable(thread, "report", () => anyReport(thread, identity))
    const client = yield* makeWireClient(OwnerRpc, {
      target: () => thread.options.owner(identity.ownerId),
      headers: callerHeaders({ _tag: "Thread", ...identity }),
      requestId: thread.host.uuid,
      tracing: false,
    })
    yield* Effect.timeout(client.report({ ...identity, report }), thread.limits.mutationMillis)
  }).pipe(
    Effect.scoped,
    Effect.catchCause((cause) =>
      Effect.logDebug(`The report did not reach the owner: ${describeThrown(cause)}`),
    ),
  )
