/**
 * A thread is walked through whatever can happen to it, in an order that a seed draws. At every step its
 * history verifies, explanations write nothing and say what recovery then does; at last it is forgotten.
 */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import type { VerifyCheck } from "../../../contracts/Verify.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, go, makeWorld, until, type World } from "./harness.ts"
import { operate } from "./operators.ts"

const io = { input: Schema.String, output: Schema.String }

/** A source of chance that a seed repeats. */
const drawing = (seed: number) => {
  let state = seed
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 4_294_967_296
  }
  const below = (count: number): number => Math.floor(next() * count)
  const oneOf = <A>(all: ReadonlyArray<A>): A | undefined => all[below(all.length)]
  return { below, oneOf }
}

type Draw = ReturnType<typeof drawing>

const said = ["Uncertain", "NeverStarted", "fails"] as const

/** How many bodies hang now: a run with one that hangs does nothing more by itself. */
interface Hanging {
  count: number
}

/** Never comes back. */
const hang = (hanging: Hanging): Effect.Effect<never> =>
  Effect.suspend(() => {
    hanging.count += 1
    return Effect.onInterrupt(Effect.never, () =>
      Effect.sync(() => {
        hanging.count -= 1
      }),
    )
  })

/** Makes two calls, of which none, the second or both never come back. */
const payer = (draw: Draw, hanging: Hanging) => {
  const tool = (name: string) =>
    Agent.tool(name, {
      result: Schema.String,
      execution: "ordinary",
      timeout: "1 minute",
      reconcile: () => {
        const word = draw.oneOf(said)
        return word === "Uncertain" || word === "NeverStarted"
          ? Effect.succeed({ _tag: word })
          : Effect.fail("no answer")
      },
    })
  const [first, second] = [tool("first"), tool("second")]
  return Agent.make("pays", io).handler(
    (_input, run) =>
      Effect.suspend(() => {
        const hangs = draw.below(3)
        const paid = Effect.succeed("paid")
        const calls = [
          run.tool("a", first, hangs === 2 ? hang(hanging) : paid),
          run.tool("b", second, hangs > 0 ? hang(hanging) : paid),
        ]
        return Effect.as(Effect.all(calls, { concurrency: hangs === 2 ? 2 : 1 }), "both")
      }),
    { tools: [first, second] },
  )
}

/** Agents whose runs end in every way; which one is drawn. */
const agentsOf = (draw: Draw, hanging: Hanging) => [
  Agent.make("echo", io).handler((input) => Effect.succeed(input)),
  Agent.make("steps", { ...io, state: Schema.Number }).handler((input, run) =>
    Effect.gen(function* () {
      const one = yield* run.step("one", Schema.String, Effect.succeed(`${input}!`))
      yield* run.progress("half", { input })
      yield* run.state.update("count", (state) => (state._tag === "Some" ? state.value + 1 : 1))
      return draw.below(3) === 0 ? yield* hang(hanging) : one
    }),
  ),
  Agent.make("flaky", {
    ...io,
    error: Schema.String,
    retry: { times: 3, delay: "1 minute" },
  }).handler((input) =>
    Effect.suspend(() => (draw.below(2) === 0 ? Effect.fail("no") : Effect.succeed(input))),
  ),
  payer(draw, hanging),
]

/** One thing that happens to the thread. */
const happen = async (world: World, draw: Draw, hanging: Hanging): Promise<unknown> => {
  const operator = operate(world)
  const open = await operator.explain()
  const one = draw.oneOf(open)
  const wait = one?.waits.find(({ recordId }) => recordId !== undefined)
  switch (draw.below(12)) {
    case 0:
    case 1:
    case 2: {
      const agent = draw.oneOf(["echo", "steps", "flaky", "pays", "pays"]) ?? "echo"
      const notBefore = world.time.now + draw.below(100_000)
      return accepted(world.admit(agent, agent, draw.below(3) === 0 ? { notBefore } : {}))
    }
    case 3:
    case 4:
    case 5:
      return go(world.process({ attentionMillis: 2 }))
    case 6:
      hanging.count = 0
      return world.crash()
    case 7:
      return go(world.recover())
    case 8: {
      const head = open[0]
      if (head === undefined || draw.below(3) === 0) return operator.pause()
      return go(world.abort(head.submissionId))
    }
    case 9:
      await operator.resume()
      return one === undefined ? undefined : operator.retry(one.submissionId)
    case 10:
      if (one === undefined || wait?.recordId === undefined) return undefined
      return operator.resolve(
        { submissionId: one.submissionId, recordId: wait.recordId },
        draw.oneOf([
          { _tag: "NeverHappened" },
          { _tag: "AbortSubmission" },
          { _tag: "CompletedWithResult", result: "paid" },
        ]) ?? { _tag: "SafeToRetry" },
      )
    default:
      world.time.now += draw.below(200_000)
      return undefined
  }
}

/** Whether all bodies of the run that lives here hang: two when both of its calls are open. */
const isHanging = (world: World, { count }: Hanging): boolean => {
  const [calls] = world.storage.sql.all<{ open: number }>(
    `SELECT count(*) AS open FROM calls JOIN submissions ON sequence = submission
     WHERE state = 'running'`,
  )
  return count >= Math.max(1, calls?.open ?? 0)
}

const failures = async (world: World, limit: number): Promise<ReadonlyArray<VerifyCheck>> => {
  const found: Array<VerifyCheck> = []
  let after: number | undefined = 0
  while (after !== undefined) {
    const page: Awaited<ReturnType<ReturnType<typeof operate>["verify"]>> = await operate(
      world,
    ).verify({ after, limit })
    found.push(...page.checks.filter(({ _tag }) => _tag === "Failed"))
    after = page.next
  }
  return found
}

/** Looks at the thread in every way; recovers it where what that comes to can be known before. */
const lookAt = async (world: World, draw: Draw, seen: Set<string>): Promise<void> => {
  const dump = world.storage.dump()
  const found = await operate(world).explain()
  for (const { decision } of found) seen.add(decision)
  expect(await failures(world, 1 + draw.below(20))).toEqual([])
  expect(world.storage.dump()).toBe(dump)
  if (draw.below(2) === 0 || found.some(({ decision }) => decision === "Reconcile")) return
  const { result } = await go(world.recover())
  expect(result).toEqual({
    _tag: "Success",
    value: found.map(({ decision, disposition, submissionId }) => ({
      submissionId,
      decision,
      disposition,
    })),
  })
}

describe("a thread to which anything happens", () => {
  it.each([1, 2, 3, 4, 5, 6])(
    "verifies and explains itself at every step (seed %i)",
    async (seed) => {
      const draw = drawing(seed)
      const hanging: Hanging = { count: 0 }
      const world = makeWorld({
        agents: agentsOf(draw, hanging),
        limits: { reconcileTries: 2, abortGraceMillis: 1 },
      })
      const seen = new Set<string>()
      for (let step = 0; step < 120; step++) {
        await happen(world, draw, hanging)
        await until(
          "nothing goes on by itself",
          () => !world.thread().isRunning() || isHanging(world, hanging),
          Boolean,
        )
        await lookAt(world, draw, seen)
      }
      expect((await go(world.history())).records.length).toBeGreaterThan(30)
      expect([...seen]).toEqual(expect.arrayContaining(["ApplyInput", "AwaitDue", "AwaitAttempt"]))
      const forgotten = await until(
        "the thread is forgotten",
        async () => (await operate(world).forget({ abort: true })).result,
        ({ _tag }) => _tag === "Success",
      )
      expect(forgotten).toEqual({ _tag: "Success", value: { forgottenAt: world.time.now } })
    },
  )
})
