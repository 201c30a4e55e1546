/**
 * The handler of an attempt: decodes the input, runs the agent's code, and passes the verdict of its end.
 *
 * - G1 The input is decoded after the claim, so that one which kills the object has left its strike.
 * - G2 Agent code starts in a turn of its own, never on our stack, and what it throws past its runtime
 *   reaches none of our fibers.
 * - G3 The verdict is passed before anything is logged.
 * - G4 Under an abort that is durable before the start, no agent code runs.
 * - G5 A run that has done something already is not failed by code that reads its input no more: it is held for code that
 *   does.
 */
import { Deferred, Effect, Exit, Result } from "effect"
import type { AgentLive } from "./Agent.ts"
import { forkAgentCode } from "./AgentFiber.ts"
import { attempt } from "./Durable.ts"
import type { Running } from "./Fact.ts"
import { logCause, systemFailure } from "./Failures.ts"
import { handlerEnd } from "./HandlerEnd.ts"
import { hasOperations } from "./Journal.ts"
import { jsonCoder } from "./JsonCoder.ts"
import { readStart } from "./Ledger.ts"
import { condemn, type Verdict } from "./LiveAttempt.ts"
import { effectOf } from "./Misuse.ts"
import { makeRun } from "./Run.ts"
import { verdictOfThrown } from "./VerdictOfThrown.ts"

type Input =
  | { readonly _tag: "Input"; readonly value: unknown }
  | { readonly _tag: "Verdict"; readonly verdict: Verdict }

const ended = (verdict: Verdict): Input => ({ _tag: "Verdict", verdict })

const inputOf = ({ thread, live }: Running, agent: AgentLive<never>["agent"]): Input => {
  const start = attempt(() => readStart(thread.host.storage.sql, live.sequence))
  if (start._tag === "Threw") return ended(verdictOfThrown(start.error))
  const { abort, input: text } = start.value
  if (abort !== null) return ended({ _tag: "WithoutResult" }) // G4
  const json = attempt((): unknown => JSON.parse(text))
  if (json._tag === "Threw") return ended({ _tag: "Unreadable", what: "submissions" })
  const input = jsonCoder(agent.input).decode(json.value)
  if (Result.isSuccess(input)) return { _tag: "Input", value: input.success }
  const begun = attempt(() => hasOperations(thread.host.storage.sql, live.sequence))
  if (begun._tag === "Threw") return ended(verdictOfThrown(begun.error))
  return ended(
    begun.value
      ? { _tag: "Mismatch", name: live.row.agent } // G5
      : { _tag: "Failed", failure: systemFailure("InputInvalid", input.failure) },
  )
}

/** Passes what the end of the handler means. */
const pass = (
  running: Running,
  live: AgentLive<never>,
  exit: Exit.Exit<unknown, unknown>,
): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { log, verdict } = handlerEnd(running, live.agent, exit)
    condemn(running.live, verdict)
    return log === undefined || Exit.isSuccess(exit) ? Effect.void : logCause(log, exit.cause) // G3
  })

/**
 * Runs the agent's code in a fiber of its own and passes the verdict. The fiber is kept in the live
 * attempt, whose end interrupts it; nobody waits for what it does after that.
 */
export const runHandler = (running: Running, live: AgentLive<never>): Effect.Effect<void> =>
  Effect.gen(function* () {
    const input = inputOf(running, live.agent) // G1
    if (input._tag === "Verdict") return condemn(running.live, input.verdict)
    const run = makeRun(running, live.agent)
    const code = Effect.scoped(
      Effect.suspend(() =>
        effectOf(live.handle(input.value, run), "the handler must return an Effect"),
      ),
    )
    const { services } = running.thread
    const program = services === undefined ? code : Effect.provideContext(code, services)
    const end = Deferred.makeUnsafe<Exit.Exit<unknown, unknown>>()
    const tell = (exit: Exit.Exit<unknown, unknown>) => {
      Deferred.doneUnsafe(end, Effect.succeed(exit))
    }
    const fiber = yield* forkAgentCode(program, tell, running.live.turns) // G2
    running.live.handler = fiber
    yield* Effect.forkDetach(
      Effect.flatMap(Deferred.await(end), (exit) => pass(running, live, exit)),
    )
  })
