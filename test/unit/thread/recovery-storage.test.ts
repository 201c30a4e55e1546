/**
 * Storage that fails at each block, each commit and each read of runs with ordinary calls. Whatever failed, the
 * work comes to the same settlements, and the outside was called only by somebody's leave.
 */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import type { SubmissionId } from "../../../contracts/Identifiers.ts"
import { StorageFailure } from "../../../platform/ObjectStorage.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { io, makeOutside, payment, questionsOf, settle, settlementOf } from "./calls.ts"
import { accepted, go, makeWorld, type World } from "./harness.ts"
import { operate } from "./operators.ts"

type Use = "block" | "commit" | "read"

interface Fault {
  readonly use: Use
  /** Which use of its kind fails first, from 1, and how many in a row. */
  readonly at: number
  readonly times: number
}

/** Has the storage fail as told, and counts its uses. */
const breakStorage = (world: World, fault: Fault | undefined) => {
  const counts: Record<Use, number> = { block: 0, commit: 0, read: 0 }
  const use = (kind: Use): void => {
    counts[kind] += 1
    if (fault?.use !== kind) return
    if (counts[kind] < fault.at || counts[kind] >= fault.at + fault.times) return
    throw new StorageFailure(new Error("disk I/O error"))
  }
  const storage = world.own as {
    transaction: <A>(block: () => A) => A
    readonly sql: { all: World["storage"]["sql"]["all"] }
  }
  const { transaction } = storage
  const { all } = storage.sql
  storage.transaction = (block) => {
    use("block")
    return transaction(() => {
      const result = block()
      use("commit")
      return result
    })
  }
  storage.sql.all = (...given) => {
    use("read")
    return all(...given)
  }
  const heal = () => Object.assign(storage, { transaction }) && Object.assign(storage.sql, { all })
  return { counts, heal }
}

/** Three runs: a call that is paid at once, one whose answer is lost, one that nobody can tell about. */
const makeCase = () => {
  const outside = makeOutside()
  const paid = new Map<string, number>()
  const pay = (key: string) =>
    Effect.sync(() => {
      paid.set(key, (paid.get(key) ?? 0) + 1)
      return "paid"
    })
  const known = payment("ordinary", {
    timeout: 1,
    reconcile: ({ key }) =>
      Effect.sync(() =>
        paid.has(key)
          ? ({ _tag: "Completed", result: "paid" } as const)
          : ({ _tag: "NeverStarted" } as const),
      ),
  })
  const silent = payment("ordinary", { timeout: 1, name: "silent" })
  const agent = Agent.make("agent", io).handler(
    (input, run) =>
      Effect.gen(function* () {
        yield* run.step("before", Schema.Void, Effect.void)
        const tool = input === "silent" ? silent : known
        return yield* run.tool(
          input,
          tool,
          outside.body(({ key }) =>
            input === "plain" ? pay(key) : Effect.andThen(pay(key), Effect.never),
          ),
        )
      }),
    { tools: [known, silent] },
  )
  const world = makeWorld({ agents: [agent] })
  return { outside, paid, world }
}

/** Tries again what the storage refused. */
const insist = async <A>(work: () => Promise<A>): Promise<A> => {
  for (let tries = 0; ; tries++)
    try {
      return await work()
    } catch (error) {
      if (tries > 5) throw error
    }
}

/** The owner's part, through whatever fails. */
const drive = async (world: World): Promise<void> => {
  for (let round = 0; round < 100; round++) {
    const { dueAt, recoverAt } = (await insist(() => go(world.inspect()))).report
    const at = recoverAt ?? dueAt
    if (at === undefined) return
    world.time.now = Math.max(world.time.now + 1, at)
    const call = recoverAt === undefined ? () => go(world.process()) : () => go(world.recover())
    await call().catch(() => undefined)
  }
  throw new Error("the thread does not come to rest")
}

const play = async ({ world }: ReturnType<typeof makeCase>) => {
  const ids: Array<SubmissionId> = []
  for (const input of ["plain", "known", "silent"]) {
    const admitted = await insist(() =>
      accepted(world.admit("agent", input, { idempotencyKey: input })),
    )
    ids.push(admitted.submissionId)
  }
  await drive(world)
  const [, , silent] = ids
  const [question] = await insist(() => questionsOf(world, silent as SubmissionId))
  if (question === undefined) throw new Error("nothing is asked")
  const word = { _tag: "CompletedWithResult", result: "told" }
  await insist(() => operate(world).resolve(question, word))
  await drive(world)
  return ids
}

const run = async (fault: Fault | undefined) => {
  const made = makeCase()
  const { counts, heal } = breakStorage(made.world, fault)
  const ids = await play(made)
  heal()
  await settle(made.world)
  const settlements = await Promise.all(ids.map((id) => settlementOf(made.world, id)))
  const { records } = await go(made.world.history())
  const namesOf = (kind: string) =>
    records
      .filter((record) => record.kind === kind)
      .map(({ name, submissionId }) => `${ids.indexOf(submissionId)} ${name ?? ""}`)
      .toSorted()
  return {
    counts,
    paid: [...made.paid.values()],
    outputs: settlements.map((settlement) => settlement?.output),
    outcomes: namesOf("ToolSettled"),
    ends: namesOf("Settled"),
  }
}

const calm = await run(undefined)

describe("runs with ordinary calls", () => {
  // An end that cannot be written is tried once more before the run is left to recovery.
  const table = (["block", "commit", "read"] as const).flatMap((use) =>
    [1, 2].map((times) => ({ use, times })),
  )

  it.each(table)("come to the same when any $use fails $times times", async ({ times, use }) => {
    const { counts, ...expected } = calm
    expect(expected.outputs).toEqual(["paid", "paid", "told"])
    expect(expected.paid).toEqual([1, 1, 1])
    expect(counts[use]).toBeGreaterThan(20)
    for (let at = 1; at <= counts[use]; at++) {
      const { counts: _counts, ...came } = await run({ use, at, times })
      expect({ at, ...came }).toEqual({ at, ...expected })
    }
  })
})
