/**
 * `observe`: the records after a sequence, each once and in order, then those to come, and the chunks
 * that runs emit meanwhile.
 *
 * - N1 Registered first, read second, then parked: what is committed in between is not missed.
 * - N2 Records come from the journal by their sequence, so that a reader that comes back goes on where
 *   it was.
 * - N3 A stream that has been idle for `limits.waitMillis` ends with a cursor.
 */
import { Effect, Option, Stream } from "effect"
import type { ObserveFrame } from "../contracts/JournalRecord.ts"
import { reading, type ReadFailure } from "./Durable.ts"
import { readPage } from "./History.ts"
import { makeObserver, type Observer } from "./Observers.ts"
import type { Thread } from "./Thread.ts"
import { within } from "./Within.ts"

type Step = readonly [ReadonlyArray<ObserveFrame>, Option.Option<number>]

/** What there is to tell after this sequence: each record with the chunks that stand before it. */
const framesAfter = (
  thread: Thread,
  observer: Observer,
  after: number,
): { readonly frames: ReadonlyArray<ObserveFrame>; readonly after: number } => {
  const page = readPage(thread, { after })
  const frames: Array<ObserveFrame> = []
  let last = after
  for (const record of page.records) {
    frames.push(...observer.takeBefore(record.sequence), { _tag: "Record", record })
    last = record.sequence
  }
  if (page.next === undefined) frames.push(...observer.takeBefore(Number.POSITIVE_INFINITY))
  return { frames, after: last }
}

const advance = (
  thread: Thread,
  observer: Observer,
  after: number,
): Effect.Effect<Step, ReadFailure> =>
  Effect.gen(function* () {
    const bell = observer.bell()
    const told = yield* reading(thread, "observe", () => framesAfter(thread, observer, after))
    if (told.frames.length > 0) return [told.frames, Option.some(told.after)]
    const rung = yield* within(bell, thread.limits.waitMillis)
    return Option.isSome(rung)
      ? [[], Option.some(after)]
      : [[{ _tag: "Cursor", after } as const], Option.none()] // N3
  })

/** The frames from a sequence on. Its scope registers the observer, and takes it away again. */
export const observe = (thread: Thread, after: number): Stream.Stream<ObserveFrame, ReadFailure> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const observer = yield* Effect.acquireRelease(
        Effect.sync(() => {
          const made = makeObserver(thread.limits.observerBuffer)
          thread.observers.add(made) // N1
          return made
        }),
        (made) => Effect.sync(() => thread.observers.delete(made)),
      )
      const opened: ObserveFrame = { _tag: "Opened", tailSequence: thread.tailSequence }
      return Stream.concat(
        Stream.make(opened),
        Stream.paginate(after, (from: number) => advance(thread, observer, from)), // N2
      )
    }),
  )
