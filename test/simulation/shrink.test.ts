/** A failing seed is made as short as it can be, and told in words. */
import { expect, it } from "vitest"
import { drawPlan } from "../../testing/DrawPlan.ts"
import type { Plan } from "../../testing/Plan.ts"
import { type RunPlan, shrink } from "../../testing/Shrink.ts"
import { runPlan } from "../../testing/Simulation.ts"
import { tell } from "../../testing/Tell.ts"
import { startsAt } from "../../testing/World.ts"
import { worldWords } from "../../testing/WorldWords.ts"

/** Fails exactly if the plan still has these operations, and the run the first fault that chance made. */
const failsWith =
  (keys: ReadonlyArray<string>): RunPlan =>
  async (plan, options) => {
    const outcome = await runPlan(plan, options)
    const has = keys.every((key) =>
      plan.operations.some((one) => one._tag === "Submit" && one.key === key),
    )
    const violation = { seed: plan.seed, invariant: "I1", detail: "as planned" }
    return { ...outcome, violations: has && outcome.happened.length > 0 ? [violation] : [] }
  }

const withFaults = (): Plan => {
  for (let seed = 1; ; seed++) {
    const plan = drawPlan(seed)
    if (plan.operations.length > 8 && plan.rates["request lost"] !== undefined) return plan
  }
}

it("keeps what is needed to fail, and nothing else", async () => {
  const plan = withFaults()
  const shortest = await shrink(plan, "I1", { run: failsWith(["k1", "k2"]) })
  expect(shortest?.plan.operations.map((one) => "key" in one && one.key).toSorted()).toEqual([
    "k1",
    "k2",
  ])
  expect(shortest?.outcome.happened).toHaveLength(1)
  expect(shortest?.plan.faults.length).toBeLessThanOrEqual(1)
  const words = shortest === undefined ? [] : tell(shortest)
  expect(words[0]).toBe(`Seed ${plan.seed} violates I1: as planned`)
  expect(words.filter((line) => line.includes(" submits "))).toHaveLength(2)
  const [fault] = shortest?.outcome.happened ?? []
  // Of what, at which failpoint or to which call: without that no race can be understood.
  expect(words.at(-1)).toBe(
    `  at ${(fault?.at ?? 0) - startsAt} ms: ${fault?.kind}${fault?.where && ": "}${fault?.where}`,
  )
})

it("tells what else a world has, and nothing that is as usual", () => {
  const usual = { ...withFaults(), skewMillis: 0, talks: false }
  const { alarmLagMillis: _l, doors: _d, hostLanes: _h, keeps: _k, limits: _m, ...rest } = usual
  const { callbacks: _c, denials: _n, killsTake: _t, reconciling: _r, sink: _s, ...bare } = rest
  const { asksAfter: _a, lists: _i, strayMillis: _y, ...plain } = bare
  expect(worldWords(plain)).toEqual([])
  expect(
    worldWords({
      ...plain,
      limits: { mutationsPerLane: 2 },
      skewMillis: 20,
      denials: [{ client: 1, operations: ["submit"], thread: 0 }],
      doors: "even",
      sink: { share: 0.5, ills: ["hangs"] },
      keeps: { v2: 9 },
    }),
  ).toEqual([
    "limits: mutationsPerLane 2",
    "clocks are wrong by up to 20 ms",
    `client 1 may not submit on ${plain.threads[0]?.ownerId}/${plain.threads[0]?.threadId}`,
    "messages of other owners are let in by threads with an even number",
    "records are published; of 0.5 of the batches: hangs",
    "what has settled keeps its content for 9 ms",
  ])
})

it("gives nothing for a plan that does not fail", async () => {
  expect(await shrink(drawPlan(1), "I1", { run: failsWith(["nobody"]) })).toBeUndefined()
})
