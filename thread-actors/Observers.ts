/**
 * Who watches this thread now, in memory: a bell for records, and a bounded buffer of chunks each.
 *
 * - O1 Records are never buffered here: an observer reads them from the journal, so none is dropped.
 * - O2 A slow observer loses chunks, and is told how many.
 */
import type { Deferred } from "effect"
import type { ObserveFrame } from "../contracts/JournalRecord.ts"
import { makeBell } from "../platform/Bell.ts"

export type Chunk = Omit<Extract<ObserveFrame, { readonly _tag: "Emitted" }>, "_tag">

/** A chunk, and the last record that was there before it. */
interface Buffered {
  readonly afterSequence: number
  readonly frame: ObserveFrame
}

export interface Observer {
  /** Something has happened since the last look. */
  readonly wake: () => void
  readonly offer: (buffered: Buffered) => void
  /** The chunks that stand before the record of this sequence, in order; they leave the buffer. */
  readonly takeBefore: (sequence: number) => Array<ObserveFrame>
  /** The bell that the next event rings; rung already if one came since the last look. */
  readonly bell: () => Deferred.Deferred<void>
}

export const makeObserver = (bufferMax: number): Observer => {
  let buffer: Array<Buffered> = []
  let dropped = 0
  const bell = makeBell()
  return {
    wake: bell.ring, // O1
    offer: (buffered) => {
      if (buffer.length < bufferMax) buffer.push(buffered)
      else dropped += 1 // O2
      bell.ring()
    },
    takeBefore: (sequence) => {
      const taken = buffer.filter(({ afterSequence }) => afterSequence < sequence)
      buffer = buffer.slice(taken.length)
      const frames = taken.map(({ frame }) => frame)
      if (buffer.length === 0 && dropped > 0) {
        frames.push({ _tag: "Gap", dropped }) // O2
        dropped = 0
      }
      return frames
    },
    bell: bell.next,
  }
}

/** Who is there, and the last record they can have seen. */
export interface Audience {
  readonly observers: ReadonlySet<Observer>
  readonly tailSequence: number
}

/** Gives a chunk to everybody who watches now. Writes nothing. */
export const publishChunk = (audience: Audience, chunk: Chunk): void => {
  const afterSequence = audience.tailSequence
  for (const observer of audience.observers)
    observer.offer({ afterSequence, frame: { _tag: "Emitted", ...chunk } })
}
