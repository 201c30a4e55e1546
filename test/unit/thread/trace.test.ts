/** The trace that a submission is kept with: of whoever submitted it first, and of what is done again for it. */
import { Effect, Schema, Tracer } from "effect"
import { describe, expect, it } from "vitest"
import { spanIn } from "../../../contracts/observability/TraceContext.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, drain, go, makeWorld } from "./harness.ts"
import { operate, taken } from "./operators.ts"

const ids = (digit: string) => ({ traceId: digit.repeat(32), spanId: digit.repeat(16) })
const textOf = (digit: string) => `00-${digit.repeat(32)}-${digit.repeat(16)}-01`

const under =
  <A, E>(trace: { readonly traceId: string; readonly spanId: string }) =>
  (call: Effect.Effect<A, E>) =>
    Effect.provideService(call, Tracer.ParentSpan, Tracer.externalSpan(trace))

const make = () => {
  const seen: Array<string | undefined> = []
  const agent = Agent.make("agent", { input: Schema.String, output: Schema.Null }).handler(
    (input) =>
      Effect.withFiber(({ context }) => {
        seen.push(spanIn(context)?.traceId)
        return input === "fail" ? Effect.die("it fails") : Effect.succeed(null)
      }),
  )
  const world = makeWorld({ agents: [agent] })
  const traces = () =>
    world.storage.sql
      .all<{ trace: string | null }>("SELECT trace FROM submissions ORDER BY sequence")
      .map(({ trace }) => trace)
  return { seen, traces, world }
}

describe("a submission", () => {
  it("keeps the trace of its first call, and its run goes on in it, whoever collects spans", async () => {
    const { seen, traces, world } = make()
    for (const digit of ["a", "b"]) {
      const call = world.admit("agent", "ok", { idempotencyKey: "one" })
      await accepted(under(ids(digit))(call) as typeof call)
    }
    await accepted(world.admit("agent", "ok"))
    world.crash()
    await drain(world)
    expect(traces()).toEqual([textOf("a"), null])
    expect(seen).toEqual(["a".repeat(32), undefined])
  })

  it("has none where what came is no trace, or what is stored is damaged", async () => {
    const { seen, traces, world } = make()
    for (const trace of [ids("0"), { traceId: "x".repeat(2_000_000), spanId: "y" }]) {
      const call = world.admit("agent", "ok")
      await accepted(under(trace)(call) as typeof call)
    }
    expect(traces()).toEqual([null, null])
    world.storage.sql.run("UPDATE submissions SET trace = 'damaged' WHERE sequence = 1")
    world.storage.sql.run("UPDATE submissions SET trace = 7 WHERE sequence = 2")
    await drain(world)
    expect(seen).toEqual([undefined, undefined])
    const { checks } = await operate(world).verify()
    expect(checks.filter(({ _tag }) => _tag !== "Passed")).toEqual([])
  })

  it("that does the work of another again goes on in its trace", async () => {
    const { seen, traces, world } = make()
    const call = world.admit("agent", "fail")
    const { submissionId } = await accepted(under(ids("a"))(call) as typeof call)
    await drain(world)
    const order = world.asOwner.resubmit({
      ...world.address,
      submissionId,
      idempotencyKey: "again",
      author: "ann",
      reason: "once more",
      principal: "alice",
      generation: world.generation(),
      now: world.time.now,
    } as never)
    await taken(go(under(ids("b"))(order) as typeof order) as never)
    await drain(world)
    expect(traces()).toEqual([textOf("a"), textOf("a")])
    expect(seen).toEqual(["a".repeat(32), "a".repeat(32)])
  })
})
