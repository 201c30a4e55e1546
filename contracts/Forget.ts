/**
 * `forgetThread`: deletes all that a thread holds. One row stays for ever, the tombstone; every later call
 * about this thread id gets `ThreadForgotten`.
 */
import { Schema } from "effect"
import { ThreadCommandFields } from "./Command.ts"
import { Unavailable, WorkOwed } from "./Errors.ts"
import { Millis } from "./Identifiers.ts"

export const ForgetFields = {
  ...ThreadCommandFields,
  abort: Schema.optionalKey(Schema.Boolean).annotateKey({
    description:
      "Aborts what is owed first. Without it a thread that owes anything refuses with " +
      "`WorkOwed`.",
  }),
}

export const ForgetReply = Schema.Union([
  Schema.TaggedStruct("Forgotten", { forgottenAt: Millis }),
  Schema.TaggedStruct("Condemned", {}),
]).annotate({
  identifier: "ForgetReply",
  description:
    "`Forgotten`: it is done. `Condemned`: it is decided and durable, and will be done by " +
    "the alarm: a mutation is under way, the thread could not be reached yet, or what is " +
    "aborted still has its grace. Without `abort` it may still turn out that the thread " +
    "owes work: then it stays, as if nobody had asked, and the owner's log says so. " +
    "`laneStatus` (`condemned`) and `obligations` tell which of the two it came to.",
})
export type ForgetReply = typeof ForgetReply.Type

/** The thread's own answer: forgotten, or why not yet. */
export const ThreadForgetReply = Schema.Struct({ forgottenAt: Millis })
export const ThreadForgetRefusal = Schema.Union([WorkOwed, Unavailable])
export type ThreadForgetRefusal = typeof ThreadForgetRefusal.Type
