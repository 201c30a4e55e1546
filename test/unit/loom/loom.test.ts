/** Owner and threads together: what a submission goes through, and what it costs. */
import { Effect, Fiber } from "effect"
import { describe, expect, it } from "vitest"
import { ThreadId } from "../../../contracts/Identifiers.ts"
import type { Fate } from "../../../contracts/transport/InMemory.ts"
import { ownerId } from "../owner/OwnerWorld.ts"
import { makeLoom } from "./Loom.ts"
import { definition, echo, waiting } from "./waiting.ts"

const go = Effect.runPromise

const gate = () => {
  let open: () => void = () => undefined
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { open, opened }
}

describe("a loom", () => {
  it("processes 3 threads × 50 interleaved submissions in order", async () => {
    const loom = makeLoom({ agents: [echo] })
    const threads = ["a", "b", "c"]
    const expected = new Map<string, Array<string>>(threads.map((thread) => [thread, []]))
    for (let index = 0; index < 50; index++) {
      for (const thread of threads) {
        const receipt = await go(loom.submit(thread))
        expect(receipt.sequence).toBe(index + 1)
        expected.get(thread)?.push(receipt.submissionId)
      }
    }
    await loom.quiet()
    for (const thread of threads) {
      const { records } = await loom.history(thread)
      const of = (kind: string) =>
        records.filter((record) => record.kind === kind).map((record) => record.submissionId)
      expect(of("InputApplied")).toEqual(expected.get(thread))
      expect(of("Settled")).toEqual(expected.get(thread))
      expect(records.map(({ sequence }) => sequence)).toEqual(records.map((_, index) => index + 1))
    }
  })

  it("replies to a submit after two commits, the owner's and the thread's, and finishes later", async () => {
    const events: Array<string> = []
    const loom = makeLoom({ agents: [echo], onCommit: (object) => events.push(object) })
    await go(loom.submit("a"))
    events.push("reply")
    await loom.quiet()
    expect(events.slice(0, 4)).toEqual(["owner", "a", "reply", "owner"])
  })

  it("gives concurrent submits of one key one receipt, and one of them says that it is new", async () => {
    const loom = makeLoom({ agents: [echo] })
    const receipts = await go(
      Effect.all(
        Array.from({ length: 8 }, () =>
          loom.client.submit({
            ownerId,
            threadId: ThreadId.make("a"),
            agent: definition.name,
            input: 1,
            idempotencyKey: "same" as never,
          }),
        ),
        { concurrency: "unbounded" },
      ),
    )
    expect(new Set(receipts.map(({ submissionId }) => submissionId)).size).toBe(1)
    expect(receipts.filter(({ duplicate }) => !duplicate)).toHaveLength(1)
    await loom.quiet()
    expect(await loom.kinds("a")).toEqual(["InputApplied", "Settled"])
  })

  it("refuses new input when its owner is full, and still answers a key it accepted", async () => {
    const agent = waiting()
    const loom = makeLoom({ agents: [agent.live], limits: { nonterminalPerOwner: 1 } })
    const first = await go(loom.submit("a", "k"))
    await loom.alarmsUntil("the body runs", () => agent.bodies() === 1)
    expect(await go(Effect.flip(loom.submit("b")))).toMatchObject({
      _tag: "AdmissionLimitExceeded",
      limit: "nonterminalPerOwner",
      maximum: 1,
    })
    expect(await go(loom.submit("a", "k", 1))).toEqual({ ...first, duplicate: true })
    agent.end()
    await loom.quiet()
    expect(await go(loom.submit("b"))).toMatchObject({ sequence: 1 })
  })

  it("has the push of a report bring the next input to run, long before the watch", async () => {
    const agent = waiting()
    const loom = makeLoom({ agents: [agent.live], limits: { watchMillis: 60_000 } })
    const first = await go(loom.submit("a"))
    await loom.alarmsUntil("the body runs", () => agent.bodies() === 1)
    const second = await go(loom.submit("a"))
    agent.end()
    await loom.quiet()
    for (const { submissionId } of [first, second]) {
      expect(await loom.status("a", submissionId)).toMatchObject({ state: "settled", attempts: 1 })
    }
  })

  it("resumes a run whose thread died without anybody's call but the alarm's", async () => {
    const agent = waiting()
    const loom = makeLoom({
      agents: [agent.live],
      losesReports: true,
      limits: { watchMillis: 20, watchMaxMillis: 20, lostBackoffMillis: 5 },
    })
    const receipt = await go(loom.submit("a"))
    await loom.alarmsUntil("the body runs", () => agent.bodies() === 1)
    loom.crashThread("a")
    await loom.alarmsUntil("the body runs again", () => agent.bodies() === 2)
    agent.end()
    await loom.quiet()
    expect(await loom.status("a", receipt.submissionId)).toMatchObject({
      state: "settled",
      attempts: 2,
      settlement: { outcome: "completed" },
    })
    expect((await loom.kinds("a")).filter((kind) => kind === "StepCompleted")).toHaveLength(1)
  })
})

describe("a lost submission, with real threads,", () => {
  it("is not made by a request that lands after its caller died and the lane was visited", async () => {
    const landing = gate()
    const sent = gate()
    let held = true
    const loom = makeLoom({
      agents: [echo],
      hooks: {
        request: async (message): Promise<Fate> => {
          if (held && message._tag === "Request" && message.tag === "admit") {
            held = false
            sent.open()
            await landing.opened
          }
          return "deliver"
        },
      },
    })
    const dead = Effect.runFork(loom.submit("a", "k"))
    await sent.opened
    loom.crash()
    await loom.quiet()
    landing.open()
    await go(Fiber.await(dead))
    expect(await loom.kinds("a")).toEqual([])
    expect(await go(loom.submit("a", "k"))).toMatchObject({ sequence: 1, duplicate: false })
    await loom.quiet()
    expect(await loom.kinds("a")).toEqual(["InputApplied", "Settled"])
  })

  it("is not made by a submit that reports a running head", async () => {
    const agent = waiting()
    const loom = makeLoom({
      agents: [agent.live],
      losesReports: true,
      limits: { watchMillis: 30, watchMaxMillis: 30 },
    })
    await go(loom.submit("a"))
    await loom.alarmsUntil("the body runs", () => agent.bodies() === 1)
    const second = await go(loom.submit("a"))
    agent.end()
    await loom.quiet()
    expect(await loom.status("a", second.submissionId)).toMatchObject({ state: "settled" })
  })
})
