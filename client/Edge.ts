/**
 * The edge: serves `HeddleRpc` by calling the objects, and holds no state of its own.
 *
 * Mutations and what the owner knows go to the owner object; reads of one thread go straight to its
 * actor. Built per invocation: a stateless Worker must not share what holds I/O between requests.
 *
 * - E1 The objects are told the verified principal; of a callback, that it is one.
 * - E2 Readers of a thread never load its owner, but for `explain` and the first frame of `observe`, which
 *   are not held up by it for long.
 * - E3 A reader whose token ends is told where to go on with another one; who waits is answered `Pending` then.
 * - E4 What a filter means is bounded in time: the platform may repeat a call of an object seconds later, and what was
 *   accepted since is not meant.
 * - E5 Of a stream that nobody reads a few records are held here; the others stay with their thread.
 */
import { Clock, Effect, Layer, type Scope, Stream } from "effect"
import type { BulkCursor, BulkFilter } from "../contracts/Bulk.ts"
import { CurrentLimits } from "../contracts/Limits.ts"
import { HeddleRpc } from "../contracts/HeddleRpc.ts"
import type { SubmissionId } from "../contracts/Identifiers.ts"
import type { ObserveFrame } from "../contracts/JournalRecord.ts"
import { spans } from "../contracts/observability/Spans.ts"
import { makeWireServer, type WireServer } from "../contracts/transport/WireServer.ts"
import { callback } from "./Callback.ts"
import { gatedEdge, refusingEdge } from "./EdgeGate.ts"
import { edgeGuard } from "./EdgeGuard.ts"
import { heldBy } from "./HeldBy.ts"
import type { Identity, Verified } from "./Identity.ts"
import { type Clients, type EdgeTargets, type Lane, makeClients } from "./ObjectClients.ts"
import type { Admission } from "./RateLimit.ts"
import { untilTokenEnds, waitUntilTokenEnds } from "./TokenEnd.ts"

export interface EdgeOptions {
  readonly identity: Identity
  readonly targets: EdgeTargets
  /** Counts the calls of this identity, where somebody does. */
  readonly admission?: Admission | undefined
}

type VerifiedOptions = EdgeOptions & { readonly identity: Verified }

/** The owner's view is a courtesy: a reader that asks why nothing runs still gets the records. */
const laneWaitMillis = 2_000

/** The owner's view of a thread; none if it does not answer soon. */
const laneOf = ({ owner }: Clients, { ownerId, threadId }: Lane) =>
  owner.laneStatus({ ownerId, threadId }).pipe(Effect.timeout(laneWaitMillis), Effect.option) // E2

/** Adds the owner's view to the frame that opens a stream. */
const withLane = Effect.fnUntraced(function* (clients: Clients, at: Lane, frame: ObserveFrame) {
  if (frame._tag !== "Opened") return frame
  const lane = yield* laneOf(clients, at)
  return lane._tag === "None" ? frame : { ...frame, lane: lane.value }
})

/** The thread's own view of each open submission, completed by what its owner knows of the thread. */
const explain = Effect.fnUntraced(function* (
  clients: Clients,
  payload: Lane & { readonly submissionId?: SubmissionId },
) {
  const explanations = yield* clients.thread.explain(payload)
  if (explanations.length === 0) return explanations
  const lane = yield* laneOf(clients, payload)
  if (lane._tag === "None") return explanations
  const held = heldBy(lane.value)
  return explanations.map((one) => ({ ...one, heldBy: [...one.heldBy, ...held] }))
})

/** Frames of a stream that are held here while its reader takes none: with records of 256 KiB, a page of a history. */
const streamBufferSize = 4 // E5

const observe = (
  clients: Clients,
  { expiresAt }: Verified,
  payload: Lane & { readonly after?: number },
) =>
  Stream.suspend(() => {
    let after = payload.after ?? 0
    const frames = clients.thread.observe(payload, { streamBufferSize }).pipe(
      Stream.mapArrayEffect((arrived) => {
        const [first, ...rest] = arrived
        return Effect.map(withLane(clients, payload, first), (opened) => [opened, ...rest] as const)
      }),
    )
    const cursor = (): ReadonlyArray<ObserveFrame> => [{ _tag: "Cursor", after }]
    return untilTokenEnds(frames, expiresAt, cursor).pipe(
      // Behind the end: what passes here is shown. // E3
      Stream.tap((frame) =>
        Effect.sync(() => {
          if (frame._tag === "Record") after = frame.record.sequence
        }),
      ),
    )
  })

/**
 * The same command for what was accepted up to now, unless it says another time; its pages mean what the first one
 * did. // E4
 */
const bounded = <
  P extends { readonly filter: BulkFilter; readonly after?: BulkCursor },
  A extends { readonly next?: BulkCursor },
  E,
  R,
>(
  payload: P,
  call: (payload: P) => Effect.Effect<A, E, R>,
): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const filter = { acceptedBefore: payload.after?.acceptedBefore ?? now + 1, ...payload.filter }
    const reply = yield* call({ ...payload, filter })
    const { acceptedBefore } = filter
    return reply.next === undefined ? reply : { ...reply, next: { ...reply.next, acceptedBefore } }
  })

const handlers = ({ identity, targets }: VerifiedOptions) =>
  HeddleRpc.toLayer(
    // E1
    Effect.map(makeClients(targets, identity.grants.principal), (clients) => {
      const { owner, registry, thread } = clients
      return HeddleRpc.of({
        submit: (payload) => owner.submit(payload),
        submitMany: (payload) => owner.submitMany(payload),
        resubmit: (payload) => owner.resubmit(payload),
        abort: (payload) => owner.abort(payload),
        abortMany: (payload) => bounded(payload, owner.abortMany),
        resolveApproval: (payload) => owner.resolveApproval(payload),
        signal: (payload) => owner.signal(payload),
        callback: (payload) => callback(targets, payload), // E1
        schedule: (payload) => owner.schedule(payload),
        schedules: (payload) => thread.schedules(payload),
        unschedule: (payload) => owner.unschedule(payload),
        resolveUnknown: (payload) => owner.resolveUnknown(payload),
        retry: (payload) => owner.retry(payload),
        retryMany: (payload) => bounded(payload, owner.retryMany),
        pauseThread: (payload) => owner.pauseThread(payload),
        resumeThread: (payload) => owner.resumeThread(payload),
        forgetThread: (payload) => owner.forgetThread(payload),
        obligations: (payload) => owner.obligations(payload),
        wake: (payload) => owner.wake(payload),
        watch: (payload) => untilTokenEnds(owner.watch(payload), identity.expiresAt, () => []),
        reconcile: (payload) => owner.reconcile(payload),
        recoveryStatus: (payload) => owner.recoveryStatus(payload),
        maintenanceStatus: (payload) => owner.maintenanceStatus(payload),
        runMaintenance: (payload) => owner.runMaintenance(payload),
        listThreads: (payload) => owner.listThreads(payload),
        search: (payload) => owner.search(payload),
        rebuildProjections: (payload) => owner.rebuildProjections(payload),
        listOwners: (payload) => registry.list(payload),
        status: (payload) => thread.status(payload),
        history: (payload) => thread.history(payload),
        awaitSettlement: (payload) =>
          Effect.flatMap(waitUntilTokenEnds(payload, identity.expiresAt), thread.awaitSettlement),
        readState: (payload) => thread.readState(payload),
        explain: (payload) => explain(clients, payload),
        verify: (payload) => thread.verify(payload),
        observe: (payload) => observe(clients, identity, payload),
      })
    }),
  )

const serving = Effect.fnUntraced(function* (options: VerifiedOptions) {
  const { admission, identity } = options
  const context = yield* Layer.build(Layer.merge(handlers(options), edgeGuard(identity)))
  const server = yield* Effect.provideContext(
    makeWireServer(HeddleRpc, { unknownMethod: "refuse", spanPrefix: spans.edge }),
    context,
  )
  return gatedEdge(server, { identity, admission, limits: yield* CurrentLimits })
})

/** An edge for one invocation. Its scope ends every call that is still open. */
export const makeEdge = ({
  identity,
  ...rest
}: EdgeOptions): Effect.Effect<WireServer, never, Scope.Scope> =>
  identity._tag === "Verified"
    ? serving({ identity, ...rest })
    : Effect.succeed(refusingEdge(identity))
