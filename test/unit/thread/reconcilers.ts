/** For tests of reconcilers: a run whose call hangs in its first try, and what a reconciler can say. */
import { Effect } from "effect"
import * as Agent from "../../../thread-actors/Agent.ts"
import { Declined, io, makeOutside, payment } from "./calls.ts"
import { makeWorld, type WorldOptions } from "./harness.ts"

export type Answer = Agent.Reconciliation<string, Declined>

export const answers = {
  neverStarted: { _tag: "NeverStarted" },
  safeToRetry: { _tag: "SafeToRetry" },
  completed: { _tag: "Completed", result: "paid before" },
  failed: { _tag: "Failed", error: new Declined({ code: 402 }) },
  uncertain: { _tag: "Uncertain" },
} as const satisfies Record<string, Answer>

/** A run whose call hangs in its first try, and a reconciler that answers as told. */
export const makeCase = (
  look: (asked: number) => Effect.Effect<Answer, unknown>,
  options: WorldOptions & { readonly timeout?: number } = {},
) => {
  const outside = makeOutside()
  const asked: Array<Agent.ToolCall> = []
  const entered: Array<number> = []
  const tool = payment("ordinary", {
    timeout: options.timeout ?? "20 seconds",
    reconcile: (call) => Effect.suspend(() => look(asked.push(call))),
  })
  const agent = Agent.make("agent", io).handler(
    (_input, run) =>
      Effect.suspend(() => {
        entered.push(run.info.attempt)
        return run.tool(
          "pay",
          tool,
          outside.body((_call, start) =>
            start === 1 ? (Effect.never as Effect.Effect<string>) : Effect.succeed("paid now"),
          ),
          { request: { order: 7 } },
        )
      }),
    { tools: [tool] },
  )
  const world = makeWorld({ agents: [agent], cutsOff: true, ...options })
  return { agent, asked, entered, outside, world }
}

/** A call is over: 20 s that it may take, 5 s of clocks, and 30 s of an object that was replaced. */
export const overMillis = 55_000
