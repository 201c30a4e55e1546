/** Receipts at a terminal: what a submission was given, and what its key is for. */
import { Effect, Option } from "effect"
import { flagText } from "../contracts/CommandLine.ts"
import type { Receipt } from "../contracts/Submission.ts"
import type { Session } from "./Session.ts"
import { endAs, settlementText } from "./Settled.ts"
import { type Stopped, usage } from "./Stopped.ts"
import { fields } from "./Table.ts"
import { isoOf } from "./Times.ts"
import { waitFor } from "./Waiting.ts"

const receiptText = (receipt: Receipt, key: string): string =>
  fields({
    submission: receipt.submissionId,
    thread: receipt.threadId,
    sequence: receipt.sequence,
    accepted: isoOf(receipt.acceptedAt),
    duplicate: receipt.duplicate,
    "resubmission of": receipt.resubmissionOf,
    key,
  })

/** What does not say that nothing was accepted: whoever repeats without the key may have it accepted twice. */
const leavesOpen: ReadonlySet<string> = new Set(["Unavailable", "InternalDefect"])

/**
 * A call that ends without an answer may have been accepted: its key tells, and nothing else does. What is refused at last
 * may have been accepted before: it was sent again because an earlier try had no answer.
 */
export const tellingKey = <A, E extends { readonly _tag: string }, R>(
  session: Session,
  key: string,
  effect: Effect.Effect<A, E, R>,
): Effect.Effect<A, E, R> => {
  const note = session.output.note(
    `It may have been accepted. Repeat it with ${flagText("key", key)}: then it is accepted once.`,
  )
  return Effect.suspend(() => {
    const before = session.requestsSent()
    const isOpen = (error: E) =>
      session.requestsSent() - before > (leavesOpen.has(error._tag) ? 0 : 1)
    return effect.pipe(
      Effect.tapError((error) => (isOpen(error) ? note : Effect.void)),
      Effect.onInterrupt(() => note),
    )
  })
}

/** A time for a wait that nobody asked for is a mistake. */
export const timeoutOfWait = (flags: {
  readonly wait: boolean
  readonly timeout: Option.Option<number>
}): Effect.Effect<void, Stopped> =>
  Option.isSome(flags.timeout) && !flags.wait ? usage("--timeout is for --wait") : Effect.void

/** Shows a receipt; waits, if that is asked for. */
export const afterReceipt = Effect.fnUntraced(function* (
  session: Session,
  receipt: Receipt,
  options: {
    readonly key: string
    readonly wait: boolean
    readonly timeout: Option.Option<number>
  },
) {
  const { key, timeout, wait } = options
  if (!wait) return yield* session.show(receipt, () => receiptText(receipt, key))
  if (!session.json) yield* session.output.print(receiptText(receipt, key))
  // Whatever ends the wait, Ctrl-C too: the receipt is not lost.
  const settlement = yield* waitFor(session, receipt, Option.getOrUndefined(timeout)).pipe(
    Effect.onError(() => (session.json ? session.show({ receipt }, () => "") : Effect.void)),
  )
  yield* session.show({ receipt, settlement }, () => `\n${settlementText(settlement)}`)
  yield* endAs(settlement)
})
