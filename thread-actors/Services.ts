/**
 * What the agents need from their deployment: built once per incarnation, before its first use.
 *
 * - V1 One build at a time: whoever comes while it is under way waits for it.
 * - V2 The build is agent code: nobody waits for it longer than a call may take, whatever it does. One that
 *   fails or takes too long is over, and the next call builds afresh.
 */
import { type Context, Deferred, Effect, Exit, Layer, Option, Scope } from "effect"
import { Unavailable } from "../contracts/Errors.ts"
import { forkAgentCode } from "./AgentFiber.ts"
import { logCause } from "./Failures.ts"
import type { Thread } from "./Thread.ts"
import { within } from "./Within.ts"

const servicesFailed = new Unavailable({
  retryable: true,
  overloaded: false,
  reason: "The services of the agents could not start",
})

type Built = Exit.Exit<Context.Context<never>, unknown>

/** The end of the build within its time; none if it takes longer, and nobody hears of it then. // V2 */
const build = (thread: Thread): Effect.Effect<Option.Option<Built>> =>
  Effect.gen(function* () {
    // Never closed: the services live as long as the object.
    const program = Effect.suspend(() =>
      Layer.buildWithScope(Layer.fresh(thread.options.services), Scope.makeUnsafe()),
    )
    const end = Deferred.makeUnsafe<Built>()
    const fiber = yield* forkAgentCode(program, (exit) => {
      Deferred.doneUnsafe(end, Effect.succeed(exit))
    })
    const exit = yield* within(end, thread.limits.mutationMillis)
    if (Option.isNone(exit)) fiber.interruptUnsafe()
    return exit
  })

const finish = (thread: Thread, built: Option.Option<Built>): Effect.Effect<void, Unavailable> => {
  const failed = (log: Effect.Effect<void>) => Effect.andThen(log, Effect.fail(servicesFailed))
  if (Option.isNone(built))
    return failed(Effect.logError("The services of the agents did not start in time"))
  const exit = built.value
  if (Exit.isFailure(exit))
    return failed(logCause("The services of the agents could not start", exit.cause))
  thread.services = exit.value
  return Effect.void
}

/** Builds what the agents need, once; a failure is this call's, and the next builds afresh. */
export const ensureServices = (thread: Thread): Effect.Effect<void, Unavailable> =>
  Effect.suspend(() => {
    if (thread.services !== undefined) return Effect.void
    if (thread.building !== undefined) return Deferred.await(thread.building) // V1
    const building = Deferred.makeUnsafe<void, Unavailable>()
    thread.building = building
    return Effect.onExit(
      Effect.flatMap(build(thread), (built) => finish(thread, built)),
      (exit) => {
        thread.building = undefined
        return Deferred.done(building, exit)
      },
    )
  })
