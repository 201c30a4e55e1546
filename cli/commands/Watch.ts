/** `heddle watch`: the lanes of an owner as they change, over lost connections. */
import { Clock, Effect, Stream } from "effect"
import { Command } from "effect/cli"
import type { OwnerId } from "../../contracts/Identifiers.ts"
import type { LaneStatus, WatchFrame } from "../../contracts/Maintenance.ts"
import { canRepeat } from "../../contracts/transport/Reconnect.ts"
import { hindrances } from "../Lane.ts"
import type { CallError } from "../Remedies.ts"
import { renewing } from "../Renewing.ts"
import { type Session, withSession } from "../Session.ts"
import { isoOf } from "../Times.ts"

const stateOf = (lane: LaneStatus): string => {
  if (lane.running) return "running"
  return lane.nonterminal === 0 ? "at rest" : (lane.head?.state ?? "open")
}

const laneLine = (now: number, lane: LaneStatus): string =>
  [
    isoOf(now),
    lane.threadId,
    stateOf(lane),
    `open ${lane.nonterminal}`,
    ...hindrances(lane),
    ...(lane.head === undefined ? [] : [lane.head.submissionId]),
  ].join("  ")

const show = Effect.fnUntraced(function* (session: Session, frame: WatchFrame) {
  if (session.json) return yield* session.showLine(frame, () => "")
  switch (frame._tag) {
    case "Opened":
      return yield* session.output.note(`Watching: ${frame.faultedLanes} threads have a fault.`)
    case "Lane":
      return yield* session.output.print(laneLine(yield* Clock.currentTimeMillis, frame.lane))
    case "Gap":
      return yield* session.output.note(
        `${frame.dropped} changes were not told: this reader is too slow.`,
      )
    default:
      return undefined
  }
})

/** As of waits: a restart of the deployment takes a while. */
const lostMax = 20
const lostPauseMaxMillis = 5_000
/** Between two watches: one that ends at once does not become a storm. */
const pauseMillis = 250

/** Watches again when nothing changed for a while, and when the connection is lost. */
const watching = Effect.fnUntraced(function* (
  session: Session,
  ownerId: OwnerId,
): Effect.fn.Return<void, CallError> {
  let lost = 0
  const frames = renewing(session, () => session.client.rpc.watch({ ownerId }))
  for (;;) {
    yield* Stream.runForEach(frames, (frame) => {
      lost = 0
      return show(session, frame)
    }).pipe(
      Effect.catch((error) => {
        lost += 1
        return canRepeat(error) && lost <= lostMax
          ? Effect.sleep(Math.min(pauseMillis * 2 ** lost, lostPauseMaxMillis))
          : Effect.fail(error)
      }),
    )
    yield* Effect.sleep(pauseMillis)
  }
})

export const watch = Command.make("watch", {}, () =>
  withSession(
    Effect.fnUntraced(function* (session) {
      yield* watching(session, yield* session.ownerId)
    }),
  ),
).pipe(
  Command.withDescription(
    "Show the lanes of an owner as they change: first those with a fault, then each that changes, until Ctrl-C. With --json every frame is a line.",
  ),
  Command.withShortDescription("Watch an owner's lanes live"),
  Command.withExamples([{ command: "heddle watch" }]),
)
