/** Inputs that have joined a run, as everybody else sees them while it goes on, and once it has ended. */
import { Deferred, Effect, Schema } from "effect"
import { expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { settle } from "./calls.ts"
import { accepted, drain, go, makeWorld, until } from "./harness.ts"
import { operate } from "./operators.ts"
import { rowOf } from "./waits.ts"

const io = { input: Schema.Json, output: Schema.Json }
const Echo = Agent.make("echo", io).handler((input) => Effect.succeed(input))
const Pays = Agent.tool("pays", { execution: "ordinary", result: Schema.String, timeout: 1 })

/** What a host does once an input has joined it. */
const rest = {
  dies: () => Effect.die(new Error("no")),
  asks: (run: Agent.Run<never>) => run.approval("go", { summary: "?" }),
  pays: (run: Agent.Run<never>) => run.tool("pay", Pays, Effect.never),
}

/** A host, and an input that has joined it; deferred for a moment before that, if it is said. */
const joined = async (kind: keyof typeof rest, deferred = false) => {
  const open = Deferred.makeUnsafe<void>()
  const Host = Agent.make("host", io).handler(
    (_, run) =>
      Effect.gen(function* () {
        yield* run.step("hold", Schema.Undefined, Effect.as(Deferred.await(open), undefined))
        yield* run.takeInputs("all")
        yield* rest[kind](run as never) as Effect.Effect<unknown>
        return null
      }),
    { tools: [Pays] },
  )
  const world = makeWorld({ agents: [Host, Echo], cutsOff: true })
  const host = await accepted(world.admit("host", 1))
  await go(world.process({ attentionMillis: 2 }))
  const input = await accepted(
    world.admit("host", 2, {
      delivery: "join",
      ...(deferred ? { notBefore: world.time.now + 5 } : {}),
    } as never),
  )
  world.time.now += 10
  Deferred.doneUnsafe(open, Effect.void)
  await until(
    "the host rests",
    () => rowOf(world)?.state,
    (state) => state === "suspended" || state === "settled",
  )
  return { world, host, input }
}

const failed = async (world: Awaited<ReturnType<typeof joined>>["world"]) =>
  (await operate(world).verify()).checks.filter(({ _tag }) => _tag === "Failed")

it.each([
  ["failed", { failed: 2 }],
  ["aborted", { aborted: 2 }],
] as const)("an input whose host has %s is counted with it", async (outcome, counts) => {
  const { host, world } = await joined(outcome === "failed" ? "dies" : "asks")
  if (outcome === "aborted") await go(world.abort(host.submissionId))
  expect((await go(world.inspect())).report).toMatchObject({
    accepted: 2,
    nonterminal: 0,
    ...counts,
  })
})

it("an input that was deferred before it joined is verified, explained and listed", async () => {
  const { host, input, world } = await joined("asks", true)
  expect(rowOf(world, 2)?.state).toBe("joined")
  const later = await accepted(world.admit("echo", 3))
  await go(world.abort(later.submissionId))
  const both = [host.submissionId, input.submissionId]
  expect((await operate(world).explain()).map(({ submissionId }) => submissionId)).toEqual(both)
  const { submissions } = await go(world.asOwner.listOpen({ ...world.address, limit: 8 }))
  expect(submissions.map(({ submissionId }) => submissionId)).toEqual(both)
  expect(await failed(world)).toEqual([])
  await go(world.abort(host.submissionId))
  expect(await failed(world)).toEqual([])
})

it("an input that has joined without its run, or a run's without it, does not verify", async () => {
  const { world } = await joined("asks")
  const { sql } = world.storage
  expect(await failed(world)).toEqual([])
  for (const change of [
    "DELETE FROM joined",
    "UPDATE joined SET sequence = 1",
    "INSERT INTO joined (host, sequence) VALUES (1, 9)",
  ]) {
    sql.run("SAVEPOINT before")
    sql.run(change)
    expect(await failed(world)).toMatchObject([{ check: "ledger" }])
    sql.run("ROLLBACK TO before")
    sql.run("RELEASE before")
  }
})

it("the queue begins behind what has settled while a parked host has an input", async () => {
  const { world } = await joined("pays")
  await settle(world)
  expect([rowOf(world)?.state, rowOf(world, 2)?.state]).toEqual(["unknown", "joined"])
  for (let index = 0; index < 3; index++) await accepted(world.admit("echo", index))
  await drain(world)
  const [tail] = world.storage.sql.all<{ floor: number }>(
    "SELECT floor FROM journal ORDER BY sequence DESC LIMIT 1",
  )
  expect(tail?.floor).toBe(6)
  expect(await failed(world)).toEqual([])
  const { report } = await go(world.inspect())
  await operate(world).resolve(report.waits[0] as never, { _tag: "AbortSubmission" })
  expect([rowOf(world)?.state, rowOf(world, 2)?.state]).toEqual(["settled", "settled"])
  expect(await failed(world)).toEqual([])
})
