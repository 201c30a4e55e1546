/**
 * `schedule` and `unschedule`: what a thread will give itself passes the gate into it, which keeps the times.
 *
 * Like a submit, what needs no thread is checked first, and a refusal there writes nothing; the agent and the
 * expression are the thread's to judge.
 */
import { Effect } from "effect"
import { type Caller, command, type Payload } from "./Command.ts"
import { measure } from "./Submit.ts"

export const schedule = (caller: Caller, payload: Payload<"schedule">) =>
  Effect.flatMap(Effect.fromResult(measure(payload, caller.owner.limits)), (bytes) =>
    command(caller, payload, (call) => caller.owner.threads.schedule(call), { bytes }),
  )

export const unschedule = (caller: Caller, payload: Payload<"unschedule">) =>
  command(caller, payload, (call) => caller.owner.threads.unschedule(call), { bytes: 0 })
