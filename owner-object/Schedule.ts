/**
 * `schedule` and `unschedule`: what a thread will give itself passes the gate into it, which keeps the times.
 *
 * Like a submit, what needs no thread is checked first, its times among it, and a refusal there writes nothing; the
 * agent is the thread's to judge.
 */
import { Effect, Result } from "effect"
import { InvalidInput } from "../contracts/Errors.ts"
import { nextOccurrence } from "../platform/Cron.ts"
import { type Caller, command, type Payload } from "./Command.ts"
import { measure } from "./Submit.ts"

/** Its size, or what is wrong with its times or its input. */
const checked = (caller: Caller, payload: Payload<"schedule">) => {
  const { cron, timeZone = null } = payload
  return Result.andThen(
    Result.mapError(nextOccurrence({ cron, timeZone }, 0), (mistake) => new InvalidInput(mistake)),
    () => measure(payload, caller.owner.limits),
  )
}

export const schedule = (caller: Caller, payload: Payload<"schedule">) =>
  Effect.flatMap(Effect.fromResult(checked(caller, payload)), (bytes) =>
    command(caller, payload, (call) => caller.owner.threads.schedule(call), {
      bytes,
      bringsLater: true,
    }),
  )

export const unschedule = (caller: Caller, payload: Payload<"unschedule">) =>
  command(caller, payload, (call) => caller.owner.threads.unschedule(call), {
    bytes: 0,
    refused: ({ removed }) => !removed,
  })
