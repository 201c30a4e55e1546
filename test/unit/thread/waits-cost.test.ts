/** What a run with many waits costs: in proportion to its records, each time that it is entered or answered. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, makeWorld, type World } from "./harness.ts"
import { taken } from "./operators.ts"
import { dispatched, hour, outputOf, outside } from "./waits.ts"

const io = { input: Schema.Number, output: Schema.Number }

const each =
  (count: number, concurrency: number | "unbounded") =>
  (wait: (index: number) => Effect.Effect<unknown, unknown>) =>
    Effect.orDie(
      Effect.as(
        Effect.forEach(
          Array.from({ length: count }, (_, index) => index),
          wait,
          {
            concurrency,
            discard: true,
          },
        ),
        count,
      ),
    )

const agents = [
  Agent.make("asleep", io).handler((count, run) =>
    each(count, "unbounded")((index) => run.sleep(`s-${index}`, "1 hour")),
  ),
  Agent.make("naps", io).handler((count, run) =>
    each(count, 1)((index) => run.until(`s-${index}`, 0)),
  ),
  Agent.make("asks", io).handler((count, run) =>
    each(count, "unbounded")((index) => run.waitFor(`w-${index}`, Schema.Json)),
  ),
]

interface Measured {
  readonly statements: number
  /** Those of them that read all rows of a run, by how SQLite plans them. */
  readonly broad: ReadonlyMap<string, number>
}

const isBroad = (plan: ReadonlyArray<string>): boolean =>
  plan.some((step) => /^(SCAN|SEARCH) (journal|waits|[jkw]) (?!.*\(submission=\? AND)/.test(step))

/** Counts the statements of an act, and looks at the plan of each. */
const counted = async (world: World, act: () => Promise<unknown>): Promise<Measured> => {
  const { sql } = world.own
  const { all, run } = sql
  const texts = new Map<string, number>()
  const note = (text: string) => void texts.set(text, (texts.get(text) ?? 0) + 1)
  const noted = {
    all: ((text: string, ...bindings: []) => {
      note(text)
      return all(text, ...bindings)
    }) as typeof all,
    run: ((text: string, ...bindings: []) => {
      note(text)
      run(text, ...bindings)
    }) as typeof run,
  }
  Object.assign(sql, noted)
  await act()
  Object.assign(sql, { all, run })
  const planOf = (text: string) =>
    all<{ detail: string }>(
      `EXPLAIN QUERY PLAN ${text.replaceAll("+?", "1").replaceAll("?", "1")}`,
    ).map(({ detail }) => detail)
  const broad = [...texts].filter(([text]) => !text.startsWith("CREATE") && isBroad(planOf(text)))
  return {
    statements: [...texts.values()].reduce((sum, count) => sum + count, 0),
    broad: new Map(broad),
  }
}

const begun = async (agent: string, count: number) => {
  const world = makeWorld({ agents })
  const { submissionId } = await accepted(world.admit(agent, count))
  return { world, submissionId, ...outside(world) }
}

const scenarios: Record<string, (count: number) => Promise<Measured>> = {
  "times that come at once": async (count) => {
    const { submissionId, world } = await begun("asleep", count)
    expect(await dispatched(world)).toBe("Suspended")
    world.time.now += hour
    const cost = await counted(world, () => dispatched(world))
    expect(await outputOf(world, submissionId)).toBe(count)
    return cost
  },
  "times that have come one after the other": async (count) => {
    const { submissionId, world } = await begun("naps", count)
    const cost = await counted(world, () => dispatched(world))
    expect(await outputOf(world, submissionId)).toBe(count)
    return cost
  },
  "values that are all there": async (count) => {
    const { signal, submissionId, world } = await begun("asks", count)
    await dispatched(world)
    for (let index = 0; index < count; index++)
      await taken(signal(submissionId, `w-${index}`, index))
    const cost = await counted(world, () => dispatched(world))
    expect(await outputOf(world, submissionId)).toBe(count)
    return cost
  },
  "values, each as it comes": async (count) => {
    const { signal, submissionId, world } = await begun("asks", count)
    await dispatched(world)
    return counted(world, async () => {
      for (let index = 0; index < count; index++)
        await taken(signal(submissionId, `w-${index}`, index))
    })
  },
}

describe("a run with many waits", () => {
  for (const [name, measure] of Object.entries(scenarios))
    it(`is entered and answered at a cost in proportion to its records: ${name}`, async () => {
      const few = await measure(20)
      const many = await measure(80)
      expect(many.statements / 80).toBeLessThanOrEqual(few.statements / 20)
      expect(many.broad).toEqual(few.broad)
    })
})
