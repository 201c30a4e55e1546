/** For tests of unknown outcomes: a run whose calls are unknown, and the words that can be said about them. */
import { Effect } from "effect"
import * as Agent from "../../../thread-actors/Agent.ts"
import { io, makeOutside, makeWitness, payment, questionsOf, settle } from "./calls.ts"
import { accepted, makeWorld } from "./harness.ts"
import { operate, type Operator } from "./operators.ts"

/** A run with a call for each of its names; the first try of each has no outcome. */
const makeCase = (names: ReadonlyArray<string> = ["pay"]) => {
  const outside = makeOutside()
  const witness = makeWitness()
  const tool = payment("ordinary", { timeout: 1 })
  const agent = Agent.make("agent", io).handler(
    (_input, run) =>
      Effect.all(
        names.map((name) =>
          witness.see(
            name,
            run.tool(
              name,
              tool,
              outside.body((call) =>
                outside.started.filter((other) => other === call.name).length === 1
                  ? (Effect.never as Effect.Effect<string>)
                  : Effect.succeed("paid"),
              ),
            ),
          ),
        ),
        { concurrency: "unbounded" },
      ),
    { tools: [tool] },
  )
  const world = makeWorld({ agents: [agent], cutsOff: true })
  witness.of(world)
  const operator: Operator = operate(world)
  return { agent, operator, outside, witness, world }
}

/** The same, once it is unknown. */
export const doubted = async (names: ReadonlyArray<string> = ["pay"]) => {
  const made = makeCase(names)
  const { submissionId } = await accepted(made.world.admit("agent", ""))
  await settle(made.world)
  const questions = await questionsOf(made.world, submissionId)
  const [question] = questions
  if (question === undefined) throw new Error("nothing is asked")
  return { ...made, question, questions, submissionId }
}

export const completed = (result: unknown = "told", isFailure?: boolean) => ({
  _tag: "CompletedWithResult",
  result,
  ...(isFailure === undefined ? {} : { isFailure }),
})
export const never = { _tag: "NeverHappened" }
export const safe = { _tag: "SafeToRetry" }
export const abort = { _tag: "AbortSubmission" }
