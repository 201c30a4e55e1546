/**
 * `pauseThread` and `resumeThread`. The mark is stored in the thread. A paused thread accepts input and
 * commands and gives receipts; it starts no attempt, so nothing of it begins or goes on until it is
 * resumed. An attempt that runs already goes on to its end.
 */
import { Schema } from "effect"
import { ThreadCommandFields } from "./Command.ts"
import { Unavailable } from "./Errors.ts"
import { Millis } from "./Identifiers.ts"

export const PauseFields = ThreadCommandFields

export const Pause = Schema.Struct({
  author: Schema.String,
  reason: Schema.String,
  sinceAt: Millis,
}).annotate({ identifier: "Pause", description: "Who paused a thread, why, and since when." })
export type Pause = typeof Pause.Type

export const PauseReply = Schema.Struct({
  paused: Schema.Boolean,
  pause: Schema.optionalKey(Pause).annotateKey({ description: "Exactly when `paused`." }),
}).annotate({
  identifier: "PauseReply",
  description: "The state after the command; pausing a paused thread keeps the first words.",
})
export type PauseReply = typeof PauseReply.Type

/** `Unavailable` is the fence: send once more with a new generation. */
export const PauseRefusal = Unavailable
export type PauseRefusal = typeof PauseRefusal.Type
