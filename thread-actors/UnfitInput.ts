/** An input for another thread that cannot be stored: too large ends the run, anything else is its author's mistake. */
import type { Effect } from "effect"
import { giveUp, type Running } from "./Fact.ts"
import { misuse } from "./Misuse.ts"
import { type Unstorable, whyUnstorable } from "./StoredValue.ts"

/** Ends the attempt by it. `what` names the operation. */
export const unfit = (running: Running, what: string, why: Unstorable): Effect.Effect<never> => {
  const told = `the input of ${what} ${whyUnstorable(why)}`
  return why._tag === "TooLarge" ? giveUp(running, "ResultTooLarge", told) : misuse(told)
}
