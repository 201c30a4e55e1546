/**
 * Pausing a thread, and letting it go on: one block each, stored in the thread itself. A paused thread
 * takes input and commands and starts no attempt; the claim looks at the mark.
 *
 * - P1 A command changes nothing once a newer one was taken: what is older is refused like any call behind the
 *   fence, which comes to stand there. It is a late replay, or the word of an owner that was lost and gives lower
 *   generations now: its report tells it to go on above them, and it says the word again.
 * - P2 Pausing a paused thread keeps the first words; resuming one that is not paused changes nothing
 *   that shows.
 * - P4 An untouched thread that its owner has never heard of stays untouched by a resume: nothing was ever sent to it
 *   that could land later.
 * - P3 The mark that claims and reports read, and the words beside it, are written together.
 */
import { Effect, Result } from "effect"
import { Unavailable } from "../contracts/Errors.ts"
import type { Generation, Principal } from "../contracts/Identifiers.ts"
import type { Pause, PauseRefusal, PauseReply } from "../contracts/Pause.ts"
import { type Block, patchHeader, touch, transactAnyhow } from "./Block.ts"
import { durable, type ReadFailure } from "./Durable.ts"
import { fenced, raiseFence } from "./Fence.ts"
import type { Header } from "./Header.ts"
import type { Identity } from "./Identity.ts"
import { isMillis } from "./StoredColumns.ts"
import type { Thread } from "./Thread.ts"

export interface PauseCommand extends Identity {
  readonly author: string
  readonly reason: string
  readonly principal: Principal
  readonly generation: Generation
}

/** A pause as it is stored. */
export interface StoredPause extends Pause {
  /** Who called. */
  readonly principal: string
}

type Answer = Result.Result<PauseReply, PauseRefusal>

/** Who paused the thread; none when it is not paused, or when what is stored does not tell. */
export const pauseOf = ({ pause }: Pick<Header, "pause">): StoredPause | undefined => {
  if (pause === null) return undefined
  try {
    const { author, principal, reason, sinceAt } = JSON.parse(pause) as Record<string, unknown>
    if ([author, principal, reason].every((part) => typeof part === "string"))
      return isMillis(sinceAt) ? ({ author, principal, reason, sinceAt } as StoredPause) : undefined
  } catch {
    // It is paused all the same: that does not hang on its words.
  }
  return undefined
}

const stateOf = (header: Header): PauseReply => {
  if (!header.paused) return { paused: false }
  const stored = pauseOf(header)
  if (stored === undefined) return { paused: true }
  const { author, reason, sinceAt } = stored
  return { paused: true, pause: { author, reason, sinceAt } }
}

/** Writes the mark and its words. */
const mark = (block: Block, pause: StoredPause | undefined): void => {
  patchHeader(block, {
    paused: pause !== undefined, // P3
    pause: pause === undefined ? null : JSON.stringify(pause), // P3
  })
  touch(block)
}

type Change = (block: Block, command: PauseCommand) => void

const paused: Change = (block, { author, principal, reason }) => {
  if (block.header.paused && pauseOf(block.header) !== undefined) return // P2
  mark(block, { author, reason, principal, sinceAt: block.now })
}

const resumed: Change = (block) => {
  if (block.header.paused) mark(block, undefined) // P2
}

const older = new Unavailable({
  retryable: true,
  overloaded: false,
  reason: "The call is older than the thread's last pause or resume",
})

const commandIn = (block: Block, command: PauseCommand, change: Change): Answer => {
  const late = fenced(block, command.generation)
  if (late !== undefined) return Result.fail(late)
  const { pauseGeneration } = block.header
  if (pauseGeneration !== null && command.generation < pauseGeneration) {
    raiseFence(block, pauseGeneration) // P1
    return Result.fail(older)
  }
  if (command.generation !== pauseGeneration) {
    change(block, command)
    patchHeader(block, { pauseGeneration: command.generation })
  }
  return Result.succeed(stateOf(block.header))
}

const commanded =
  (change: Change) =>
  (thread: Thread, command: PauseCommand): Effect.Effect<Answer, ReadFailure> =>
    durable(thread, "pause", () =>
      transactAnyhow(thread, command, (block) => commandIn(block, command, change)),
    )

/** Pauses. The live attempt goes on to its end. */
export const pause = commanded(paused)

/** Lets it go on. */
export const resume = (
  thread: Thread,
  command: PauseCommand & { readonly unheard?: boolean | undefined },
): Effect.Effect<Answer, ReadFailure> =>
  Effect.suspend(() =>
    command.unheard === true && !thread.hasTables
      ? Effect.succeed(Result.succeed({ paused: false })) // P4
      : commanded(resumed)(thread, command),
  )
