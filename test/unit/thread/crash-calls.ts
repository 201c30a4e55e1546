/**
 * Stories of a crash in an ordinary tool call: at its start, at its outcome, at the end of an attempt that left
 * it open, and at somebody's word about it. The outside keeps the truth: what was paid, and by whose leave.
 */
import { Effect } from "effect"
import { expect } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { io, makeOutside, payment, questionsOf, settle, settlementOf } from "./calls.ts"
import { accepted, go, makeWorld, type World, type WorldOptions } from "./harness.ts"
import { operate, taken } from "./operators.ts"

/** A provider that pays once per request, and knows what it has paid. */
const makeCase = (options: WorldOptions & { readonly firstIsLost?: boolean } = {}) => {
  const outside = makeOutside()
  const paid: Array<string> = []
  const tool = payment("ordinary", {
    timeout: 1,
    reconcile: ({ key }) =>
      Effect.sync(() =>
        paid.includes(key)
          ? ({ _tag: "Completed", result: "paid" } as const)
          : ({ _tag: "NeverStarted" } as const),
      ),
  })
  const agent = Agent.make("agent", io).handler(
    (_input, run) =>
      run.tool(
        "pay",
        tool,
        outside.body(({ key }, start): Effect.Effect<string> => {
          if (options.firstIsLost === true && start === 1) return Effect.never
          return Effect.sync(() => {
            paid.push(key)
            return "paid"
          })
        }),
      ),
    { tools: [tool] },
  )
  const world = makeWorld({ agents: [agent], cutsOff: true, ...options })
  return { outside, paid, world }
}

/** What must be the same with and without a crash: everything but how often a call was begun, and who told. */
const canonical = async (world: World) =>
  (await go(world.history())).records
    .filter(({ kind }) => !["AttemptInterrupted", "ToolPrepared", "ToolResolved"].includes(kind))
    .map(({ kind, name, payload }) => {
      const {
        acceptedAt: _at,
        attempts: _attempts,
        by: _by,
        ...rest
      } = payload as Record<string, unknown>
      return { kind, name, ...rest }
    })

/** A body is started again only by somebody's leave, and each leave is a record. */
const expectLeave = async ({ outside, world }: ReturnType<typeof makeCase>) => {
  const { records } = await go(world.history())
  const leaves = records.filter(({ kind }) => kind === "ToolResolved").length
  expect(outside.started.length).toBeLessThanOrEqual(1 + leaves)
  expect(records.filter(({ kind }) => kind === "ToolSettled")).toHaveLength(1)
  expect(records.filter(({ kind }) => kind === "Settled")).toHaveLength(1)
}

export const crashInCall = async (point: string): Promise<void> => {
  const firstIsLost = point.startsWith("suspend")
  const calm = makeCase({ firstIsLost })
  await accepted(calm.world.admit("agent", "", { idempotencyKey: "a" }))
  await settle(calm.world)
  const made = makeCase({ firstIsLost, stopAt: point })
  const { paid, world } = made
  const { submissionId } = await accepted(world.admit("agent", "", { idempotencyKey: "a" }))
  void go(world.process()).catch(() => undefined)
  await world.stopped()
  world.crash()
  await settle(world)
  expect(paid).toHaveLength(1)
  expect(await settlementOf(world, submissionId)).toMatchObject({ output: "paid" })
  expect(await canonical(world)).toEqual(await canonical(calm.world))
  await expectLeave(made)
  await expectLeave(calm)
}

export const crashInResolve = async (point: string): Promise<void> => {
  const unknown = async (options: WorldOptions) => {
    const tool = payment("ordinary", { timeout: 1 })
    const agent = Agent.make("agent", io).handler(
      (_input, run) => run.tool("pay", tool, Effect.never),
      { tools: [tool] },
    )
    const world = makeWorld({ agents: [agent], cutsOff: true, ...options })
    const { submissionId } = await accepted(world.admit("agent", "", { idempotencyKey: "a" }))
    await settle(world)
    const [question] = await questionsOf(world, submissionId)
    if (question === undefined) throw new Error("nothing is asked")
    const resolve = () =>
      operate(world).resolve(question, { _tag: "CompletedWithResult", result: "told" })
    return { resolve, submissionId, world }
  }
  const calm = await unknown({})
  await taken(calm.resolve())
  await settle(calm.world)
  const { resolve, submissionId, world } = await unknown({ stopAt: point })
  void resolve().catch(() => undefined)
  await world.stopped()
  world.crash()
  expect(await taken(resolve())).toEqual({ state: "ready", undecided: 0 })
  await settle(world)
  expect(await settlementOf(world, submissionId)).toMatchObject({ output: "told" })
  const records = async (of: World) =>
    (await go(of.history())).records.map(({ kind, name, payload }) => {
      const { acceptedAt: _at, recordId: _id, ...rest } = payload as Record<string, unknown>
      return { kind, name, ...rest }
    })
  expect(await records(world)).toEqual(await records(calm.world))
}
