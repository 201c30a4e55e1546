/** What goes wrong in agents, in deployments and in storage: each has one defined end. */
import { runDurableObjectAlarm } from "cloudflare:test"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { brokenServices, brokenStorage, refusedStarts, withoutGuest } from "./loom-control.ts"
import { type Loom, openLoom } from "./loom.ts"

const settles = {
  fails: { tag: "Declined", says: "" },
  throws: { tag: "Defect", says: "reference" },
  dies: { tag: "Defect", says: "reference" },
  "bad-output": { tag: "OutputInvalid", says: "" },
  "big-step": { tag: "ResultTooLarge", says: "4096 bytes" },
}

describe("a run", () => {
  for (const [agent, { says, tag }] of Object.entries(settles)) {
    it.live(`of an agent that ${agent} settles failed with ${tag}, and the next one runs`, () =>
      Effect.gen(function* () {
        const loom = yield* openLoom("quick")
        const failing = yield* loom.submit({ agent, input: null })
        const next = yield* loom.submit({})
        const settlement = yield* loom.settled(failing)
        expect(settlement).toMatchObject({ outcome: "failed", attempts: 1, failure: { tag } })
        expect(settlement.failure?.message).toContain(says)
        expect(JSON.stringify(settlement)).not.toContain("secret")
        expect(yield* loom.settled(next)).toMatchObject({ outcome: "completed", sequence: 2 })
        yield* loom.quiet
      }),
    )
  }
})

const marks = async (loom: Loom, thread: string): Promise<string> => {
  const { rows } = await loom.rows()
  return String(rows["lanes"]?.find((lane) => lane["thread_id"] === thread)?.["marks"])
}

describe("an agent that the deployment lacks", () => {
  it.live("is refused at admission, and leaves nothing behind", () =>
    Effect.gen(function* () {
      const loom = yield* openLoom("quick")
      const refusal = yield* Effect.flip(loom.submit({ agent: "nobody", input: null }))
      expect(refusal).toMatchObject({ _tag: "AgentNotRegistered", agent: "nobody" })
      yield* loom.quiet
      expect((yield* Effect.promise(loom.rows)).rows["lanes"]).toEqual([])
      expect(yield* loom.history()).toEqual([])
    }),
  )

  it.live("after admission has its lane wait, others go on, and it settles once it is back", () =>
    Effect.gen(function* () {
      const loom = yield* openLoom("quick")
      const held = loom.plan("owner", "begin:before", "hold")
      const waiting = yield* loom.submit({ thread: "waits", agent: "guest", input: null })
      yield* loom.until("the pass is held", () => held.reached)
      withoutGuest.add(loom.ownerId)
      yield* loom.killThread("waits")
      yield* loom.inOwner(() => held.release())
      yield* loom.until("the lane has waited twice", async () =>
        (await marks(loom, "waits")).includes('"attempts":2'),
      )
      const other = yield* loom.submit({ thread: "other" })
      expect(yield* loom.settled(other)).toMatchObject({ outcome: "completed" })
      const status = yield* loom.client.rpc.status({ ...waiting })
      expect(status).toMatchObject({ state: "ready", attempts: 0 })
      withoutGuest.delete(loom.ownerId)
      yield* loom.killThread("waits")
      expect(yield* loom.settled(waiting)).toMatchObject({ outcome: "completed", attempts: 1 })
      yield* loom.quiet
    }),
  )
})

describe("a start that fails ten times", () => {
  it.live("of the owner leaves an alarm each time, and the work is done once it heals", () =>
    Effect.gen(function* () {
      const loom = yield* openLoom("quick")
      const death = loom.plan("owner", "begin:before", "die")
      const receipt = yield* loom.submit()
      yield* loom.until("the owner died", () => death.reached)
      brokenStorage.add(loom.ownerId)
      let byHand = 0
      yield* loom.until("ten alarms were delivered by hand", async () => {
        if (await runDurableObjectAlarm(loom.owner())) byHand += 1
        return byHand >= 10
      })
      expect(refusedStarts.get(loom.ownerId)).toBeGreaterThanOrEqual(10)
      expect(yield* loom.inOwner(({ storage }) => storage.getAlarm())).not.toBeNull()
      brokenStorage.delete(loom.ownerId)
      expect(yield* loom.settled(receipt)).toMatchObject({ outcome: "completed" })
      yield* loom.quiet
    }),
  )

  it.live("of a thread's services charges no attempt, and the work is done once it heals", () =>
    Effect.gen(function* () {
      const loom = yield* openLoom("quick")
      brokenServices.add(loom.ownerId)
      const receipt = yield* loom.submit()
      yield* loom.until("ten starts failed", () => (refusedStarts.get(loom.ownerId) ?? 0) >= 10)
      expect(yield* loom.client.rpc.status({ ...receipt })).toMatchObject({
        state: "ready",
        attempts: 0,
      })
      brokenServices.delete(loom.ownerId)
      expect(yield* loom.settled(receipt)).toMatchObject({ outcome: "completed", attempts: 1 })
      yield* loom.quiet
    }),
  )
})

describe("storage that is full", () => {
  it.live("refuses new submissions, keeps the receipts given, and settles what was accepted", () =>
    Effect.gen(function* () {
      const loom = yield* openLoom("full")
      const input = { value: 1, note: "x".repeat(110_000) }
      const receipt = yield* loom.submit({ key: "k", input })
      const refusal = yield* Effect.flip(loom.submit({ input }))
      expect(refusal).toMatchObject({ _tag: "StorageFull" })
      expect(yield* loom.submit({ key: "k", input })).toEqual({ ...receipt, duplicate: true })
      expect(yield* loom.settled(receipt)).toMatchObject({ outcome: "completed" })
      yield* loom.quiet
    }),
  )
})
