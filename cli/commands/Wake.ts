/** `heddle wake`: ends the stall and the backoff of a lane and has its thread visited. */
import { Effect } from "effect"
import { Command } from "effect/cli"
import { ExitCode } from "../ExitCode.ts"
import { laneText } from "../Lane.ts"
import { thread } from "../Parameters.ts"
import { withSession } from "../Session.ts"
import { Stopped } from "../Stopped.ts"

export const wake = Command.make("wake", { thread }, ({ thread: threadId }) =>
  withSession(
    Effect.fnUntraced(function* (session) {
      const ownerId = yield* session.ownerId
      const lane = yield* session.client.rpc.wake({ ownerId, threadId })
      if (session.json || lane.known) yield* session.show(lane, () => laneText(lane))
      if (lane.known) return
      return yield* new Stopped({
        exitCode: ExitCode.notFound,
        what: `The owner ${ownerId} knows no thread ${threadId}`,
        next: "Check both names; heddle threads lists them. One that a lost owner had is told to it with heddle reconcile.",
      })
    }),
    threadId,
  ),
).pipe(
  Command.withDescription(
    "End the stall and the backoff of a thread and have it visited; shows how its owner sees it. Clears no fault.",
  ),
  Command.withShortDescription("Have a thread visited at once"),
  Command.withExamples([{ command: "heddle wake order-12" }]),
)
