/** Reminders: half of them are told that it is done before their time, the others come back twice. */
import { Effect } from "effect"
import type { Receipt } from "../../../contracts/index.ts"
import { StepName } from "../../../contracts/index.ts"
import { throughOutage } from "../Client.ts"
import { each, field, type Scene, type Stage, threadsNamed } from "./Scene.ts"

const reminders = 20
const times = 2

const isDone = (index: number): boolean => index % 2 === 0

const sayDone = ({ ownerId, rpc }: Stage, { submissionId, threadId }: Receipt) =>
  throughOutage(
    rpc.signal({
      ownerId,
      threadId,
      submissionId,
      name: StepName.make("done-1"),
      payload: "it is done",
    }),
  )

export const remindersScene: Scene = Effect.fnUntraced(function* (stage) {
  const receipts = yield* each(threadsNamed("reminder", reminders), (threadId, index) =>
    stage.submit({
      threadId,
      agent: "remind",
      key: threadId,
      // Those that are told have time enough for it.
      input: { text: `Reminder ${index + 1}`, everySeconds: isDone(index) ? 600 : 2, times },
    }),
  )
  yield* each(
    receipts.filter((_, index) => isDone(index)),
    (receipt) => sayDone(stage, receipt),
  )
  const settlements = yield* each(receipts, stage.settled)
  const findings = settlements.flatMap(({ output }, index) => {
    const done = field(output, "done")
    const reminded = field(output, "reminded")
    return done === isDone(index) && reminded === (isDone(index) ? 0 : times)
      ? []
      : [`reminder-${index + 1}: done ${String(done)}, reminded ${String(reminded)}`]
  })
  return {
    example: "06-reminder",
    threads: reminders,
    submissions: reminders,
    told: `${reminders / 2} told in time by a signal, ${reminders / 2} came back ${times} times each`,
    findings,
  }
})
