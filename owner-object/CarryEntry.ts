/**
 * One entry of an outbox on its way: through the gate into a thread of this owner, or to another owner's `deliver`.
 *
 * - B1 Whatever happens to the call, the entry has a result, and nothing of it fails its carry.
 * - B2 Whom it comes from is what the owner knows of the thread that it claimed it from, not what the entry says.
 * - B4 A child is work that was accepted with its parent: an owner that is full of parents lets their children in, or none
 *   of them could ever end.
 * - B6 Of a child only its thread says that it is forgotten: while it is being forgotten, the child may stand there already, of
 *   which nobody has heard, and its parent would not see it settled.
 * - B5 A message and a child go on in the trace of the run that sent them.
 * - B3 What passed the gate ends it, whoever stops waiting: an enrolment without an end would never be visited.
 */
import { Effect, Exit } from "effect"
import type { LaneReport } from "../contracts/LaneReport.ts"
import type { OwnerId, ThreadId } from "../contracts/Identifiers.ts"
import { idsIn, spanned, spannedUnder, spans } from "../contracts/observability/Spans.ts"
import { readTraceparent, spanIn } from "../contracts/observability/TraceContext.ts"
import type { Message } from "../contracts/Outbox.ts"
import { asForgotten } from "./AsForgotten.ts"
import { failureOf, within } from "./Call.ts"
import {
  type EntryResult,
  isSilence,
  type KnownEntry,
  resultOfFailure,
  taken,
} from "./CarryResult.ts"
import { keyOf } from "./Deliver.ts"
import type { Life } from "./Life.ts"
import { type MutationOptions, type ThreadAnswer, withMutation } from "./Mutation.ts"
import { addressOf, type Owner } from "./Owner.ts"
import type { Peer, PeerName } from "./Peer.ts"
import { answered, wasSilent } from "./Peers.ts"
import { fullness, measure } from "./Submit.ts"

type EntryOf<Tag extends KnownEntry["_tag"]> = Extract<KnownEntry, { readonly _tag: Tag }>

/** From where an entry is carried. */
export interface Source {
  readonly owner: Owner
  readonly life: Life
  readonly threadId: ThreadId
  /** The agents that the sending thread's code knows. */
  readonly agentsDigest: string
}

/** Whose thread an entry is for. */
export const ownerOf = (entry: KnownEntry, life: Life): OwnerId =>
  entry._tag === "Message" ? entry.ownerId : life.ownerId

/** Whom a delivery of it occupies: another owner as a whole, of this owner the one thread. */
export const peerOf = (entry: KnownEntry, life: Life): PeerName => {
  const ownerId = ownerOf(entry, life)
  return ownerId === life.ownerId
    ? { key: `thread ${entry.threadId}`, width: Infinity }
    : { key: `owner ${ownerId}`, width: 1 }
}

/** What was heard of the thread that was called. */
interface Heard {
  called: boolean
  report: LaneReport | undefined
}

/** Passes the gate of this owner. // B3 */
const own = <A, E, EC>(
  { life, owner }: Source,
  heard: Heard,
  options: MutationOptions<A, E, EC>,
): Effect.Effect<A, unknown> =>
  Effect.uninterruptible(
    withMutation(owner, life, {
      ...options,
      call: (generation, now) =>
        Effect.suspend(() => {
          heard.called = true
          return Effect.tap(options.call(generation, now), ({ report }: ThreadAnswer<A, E>) =>
            Effect.sync(() => void (heard.report = report)),
          )
        }),
    }),
  )

/** Has work admitted that a run of this owner has asked for. */
const admitted = (source: Source, heard: Heard, entry: EntryOf<"Message"> | EntryOf<"Child">) =>
  Effect.gen(function* () {
    const { life, owner, threadId: sender } = source
    const { _tag, id, threadId, trace: _trace, ...work } = entry
    const bytes = yield* Effect.fromResult(measure(work, owner.limits))
    const isChild = "parent" in work
    const link = isChild
      ? { parent: { ...work.parent, threadId: sender } }
      : { from: { ...work.from, ownerId: life.ownerId, threadId: sender } } // B2
    const mutation = own(source, heard, {
      threadId,
      brings: 1,
      bytes,
      call: (generation, now) =>
        owner.threads.admit({
          ...work,
          ...link,
          ...addressOf(life, threadId),
          ...(isChild ? {} : fullness(life, owner.limits)), // B4
          idempotencyKey: keyOf(id),
          generation,
          now,
        }),
    })
    const { submissionId } = yield* isChild ? mutation : asForgotten(owner, threadId, mutation) // B6
    return taken(submissionId)
  })

const aborted = (source: Source, heard: Heard, entry: EntryOf<"ChildAbort">) => {
  const { life, owner } = source
  const { author, childId, principal, reason, threadId } = entry
  const said = { author, childId, principal, reason }
  const mutation = own(source, heard, {
    threadId,
    bytes: 3 * (author.length + reason.length),
    endsOnly: true,
    call: (generation, now) =>
      owner.threads.abortChild({ ...addressOf(life, threadId), ...said, generation, now }),
  })
  return Effect.as(mutation, taken())
}

const askedAfter = (source: Source, heard: Heard, entry: EntryOf<"ChildAsk">) => {
  const { life, owner } = source
  const { childId, principal, threadId } = entry
  const mutation = own(source, heard, {
    threadId,
    bytes: childId.length + principal.length,
    endsOnly: true,
    call: (generation, now) =>
      owner.threads.askChild({ ...addressOf(life, threadId), childId, principal, generation, now }),
  })
  return Effect.as(mutation, taken())
}

const noticed = (source: Source, heard: Heard, entry: EntryOf<"ChildNotice">) => {
  const { life, owner } = source
  const { _tag, id: _id, threadId, ...notice } = entry
  const mutation = own(source, heard, {
    threadId,
    bytes: JSON.stringify(notice).length,
    endsOnly: true,
    call: (generation, now) =>
      owner.threads.settleChild({ ...addressOf(life, threadId), ...notice, generation, now }),
  })
  return Effect.as(mutation, taken())
}

const sent = (
  { agentsDigest, life, owner, threadId: sender }: Source,
  entry: EntryOf<"Message">,
) => {
  const { _tag, ownerId, threadId, trace: _trace, ...message } = entry
  const from: Message["from"] = { ...message.from, ownerId: life.ownerId, threadId: sender } // B2
  const call = owner.peers.deliver({
    ownerId,
    threadId,
    message: { ...message, from },
    agentsDigest,
  })
  return Effect.map(within(owner.limits.deliverMillis, call), ({ submissionId }) =>
    taken(submissionId),
  )
}

const begun = (
  source: Source,
  heard: Heard,
  entry: KnownEntry,
): Effect.Effect<EntryResult, unknown> => {
  switch (entry._tag) {
    case "Message":
      return ownerOf(entry, source.life) === source.life.ownerId
        ? admitted(source, heard, entry)
        : sent(source, entry)
    case "Child":
      return admitted(source, heard, entry)
    case "ChildAbort":
      return aborted(source, heard, entry)
    case "ChildAsk":
      return askedAfter(source, heard, entry)
    case "ChildNotice":
      return noticed(source, heard, entry)
  }
}

/** Has a delivery go on in the trace of what was sent; one without a trace stays in that of its carry. // B5 */
const traced = <A, E>(entry: KnownEntry, work: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.withFiber(({ context }) => {
    const trace = "trace" in entry ? readTraceparent(entry.trace) : undefined
    const span = () => ({
      name: spans.deliver,
      link: spanIn(context),
      attributes: { ...idsIn(entry), "heddle.entry": entry._tag },
    })
    return trace === undefined ? spanned(span, work) : spannedUnder(trace, span, work)
  })

/** Delivers one entry, between its failpoints. // B1 */
export const carryEntry = (
  source: Source,
  peer: Peer,
  entry: KnownEntry,
): Effect.Effect<EntryResult> =>
  Effect.gen(function* () {
    const { life, owner } = source
    const heard: Heard = { called: false, report: undefined }
    const isOwn = ownerOf(entry, life) === life.ownerId
    yield* owner.failpoints.reach("deliver:before")
    const exit = yield* Effect.exit(traced(entry, begun(source, heard, entry)))
    yield* owner.failpoints.reach("deliver:after")
    if (Exit.isSuccess(exit)) {
      answered(peer)
      return exit.value
    }
    const failure = failureOf(exit)
    // What the gate of this owner refused says nothing of the thread behind it.
    const silent = isSilence(failure) && (!isOwn || (heard.called && heard.report === undefined))
    if (silent) wasSilent(owner, peer)
    else answered(peer)
    const agreed = !isOwn || heard.report?.agentsDigest === source.agentsDigest
    return resultOfFailure(entry, failure, { agreed })
  })
