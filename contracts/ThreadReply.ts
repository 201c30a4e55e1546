/**
 * What a thread's mutations answer with: a refusal is data of the reply, so that the owner learns the thread's state
 * from a refusal, too.
 */
import { Schema } from "effect"
import { LaneReport } from "./LaneReport.ts"

/** `{ report, result }`: the thread's state after the call, and the call's own exit as data. */
export const threadReply = <A extends Schema.Top, E extends Schema.Top>(success: A, failure: E) =>
  Schema.Struct({
    report: LaneReport,
    result: Schema.Union([
      Schema.TaggedStruct("Success", { value: success }),
      Schema.TaggedStruct("Failure", { error: failure }),
    ]),
  })
