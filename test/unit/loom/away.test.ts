/** Somebody is away for ten minutes: another owner that is sent to, a thread that a child was asked of. */
import { Effect, Schema } from "effect"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { OwnerId, ThreadId } from "../../../contracts/Identifiers.ts"
import { type Limits, makeLimits } from "../../../contracts/Limits.ts"
import { connectionLost, inMemoryTarget } from "../../../contracts/transport/InMemory.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { ownerId, shortLimits } from "../owner/OwnerWorld.ts"
import { makeLoom } from "./Loom.ts"

const go = Effect.runPromise
const second = 1_000
const minute = 60 * second

type Loom = ReturnType<typeof makeLoom>

/** The documented limits, in place of those that other tests shorten. */
const documented = (): Partial<Limits> => {
  const limits = makeLimits()
  return Object.fromEntries(
    Object.keys(shortLimits).map((name) => [name, limits[name as keyof Limits]]),
  )
}

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] }))
afterEach(() => void vi.useRealTimers())

/** Lets time pass in small steps, alarms ringing at theirs, until it holds or so much has passed. */
const pass = async (looms: ReadonlyArray<Loom>, millis: number, isOver = () => false) => {
  const until = Date.now() + millis
  while (!isOver() && Date.now() < until) {
    for (const loom of looms) if (!loom.isDelivering()) void loom.deliver()
    await vi.advanceTimersByTimeAsync(100)
    for (let turn = 0; turn < 12; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
}

/** How somebody is away. */
type Manner = "is here" | "hangs" | "refuses" | "is gone"

const peerId = OwnerId.make("peer")
const letters = 3
const names = (of: string) => Array.from({ length: letters }, (_, index) => `${of} ${index}`)

/** An owner whose threads send to those of another one, and what the runs of that one were given. */
const makeTwo = () => {
  let manner: Manner = "is here"
  const came: Array<string> = []
  const Note = Agent.make("note", { input: Schema.String, output: Schema.Null })
  const NoteLive = Note.handler((text) =>
    Effect.as(
      Effect.sync(() => came.push(text)),
      null,
    ),
  )
  const Sender = Agent.make("sender", { input: Schema.String, output: Schema.Null })
  const SenderLive = Sender.handler(
    Effect.fn("Sender")(function* (to, run) {
      for (const input of names(run.info.threadId))
        yield* run.send(input, {
          ...(to === "" ? {} : { ownerId: OwnerId.make(to) }),
          threadId: ThreadId.make("inbox"),
          agent: Note,
          input,
        })
      return null
    }),
  )
  const target = makeLoom({
    name: peerId,
    agents: [NoteLive],
    limits: documented(),
    acceptMessages: () => (manner === "refuses" ? Effect.fail("the rule is down") : true),
  })
  const sending = makeLoom({
    agents: [NoteLive, SenderLive],
    limits: documented(),
    peer: () => ({
      call: (message, sink) => {
        if (manner === "is gone") return Promise.reject(connectionLost())
        if (manner === "hangs") return new Promise<never>(() => undefined)
        return inMemoryTarget(() => target.runtime()).call(message, sink)
      },
    }),
  })
  return { came, sending, looms: [sending, target], is: (next: Manner) => void (manner = next) }
}

describe("a target owner that is away for ten minutes", () => {
  it.each(["hangs", "refuses", "is gone"] as const)(
    "and %s holds up neither who sends to it nor anybody else, and then takes all in order, once",
    async (manner) => {
      const { came, is, looms, sending } = makeTwo()
      is(manner)
      const senders = "abcdefghijklm".split("")
      const receipts = await Promise.all(
        senders.map((name) => sending.give(name, "sender", peerId)),
      )
      const openUntil = async (thread: string, receipt: (typeof receipts)[number]) => {
        const sentAt = Date.now()
        while (Date.now() < sentAt + minute) {
          if ((await sending.status(thread, receipt.submissionId)).state === "settled") break
          await pass(looms, 100)
        }
        return Date.now() - sentAt
      }
      const begunAt = Date.now()
      const waits: Array<number> = []
      for (const [index, receipt] of receipts.entries())
        waits.push(await openUntil(senders[index] ?? "", receipt))
      for (let index = 0; Date.now() < begunAt + 10 * minute; index++) {
        const name = `other-${index}`
        waits.push(await openUntil(name, await sending.give(name, "sender", "")))
        await pass(looms, 5 * second, () => came.includes(`${name} ${letters - 1}`))
        expect(came.splice(0)).toEqual(names(name))
        await pass(looms, 20 * second)
      }
      expect(Math.max(...waits)).toBeLessThanOrEqual(3 * second)
      const owed = await go(sending.client.obligations({ ownerId }))
      expect(owed.obligations.map(({ blocker, threadId }) => [threadId, blocker])).toEqual(
        senders.map((name) => [name, "outbox"]),
      )

      is("is here")
      await pass(looms, 5 * minute, () => came.length === letters * senders.length)
      for (const name of senders)
        expect(came.filter((text) => text.startsWith(name))).toEqual(names(name))
      await pass(looms, 5 * minute)
      expect(came).toHaveLength(letters * senders.length)
      expect(await go(sending.client.obligations({ ownerId }))).toEqual({ obligations: [] })
    },
  )
})

/** A parent whose child's thread can be away, and how often the child's body has run. */
const makeFamily = () => {
  let manner: Manner = "is here"
  let bodies = 0
  const Kid = Agent.make("kid", { input: Schema.Null, output: Schema.Int })
  const KidLive = Kid.handler((_, run) =>
    Effect.andThen(
      run.step(
        "body",
        Schema.Null,
        Effect.as(
          Effect.sync(() => (bodies += 1)),
          null,
        ),
      ),
      Effect.as(run.sleep("a while", "20 seconds"), 7),
    ),
  )
  const Parent = Agent.make("parent", { input: Schema.Null, output: Schema.Int })
  const ParentLive = Parent.handler((_, run) => Effect.orDie(run.child("kid", Kid, null)))
  const loom = makeLoom({
    agents: [KidLive, ParentLive],
    limits: documented(),
    threadAway: (threadId) => {
      if (threadId === "p" || manner === "is here") return undefined
      return manner === "hangs" ? new Promise(() => undefined) : Promise.reject(connectionLost())
    },
  })
  return { loom, bodies: () => bodies, is: (next: Manner) => void (manner = next) }
}

describe("a parent whose child's thread is away for ten minutes", () => {
  for (const manner of ["hangs", "is gone"] as const)
    for (const [when, before] of [
      ["before the child came", 0],
      ["while the child works", 5 * second],
    ] as const)
      it(`and ${manner} ${when} waits, says so, and goes on with the child's word`, async () => {
        const { bodies, is, loom } = makeFamily()
        if (before === 0) is(manner)
        const { submissionId } = await loom.give("p", "parent", null)
        await pass([loom], before)
        is(manner)
        await pass([loom], 10 * minute)

        expect(await loom.status("p", submissionId)).toMatchObject({ state: "suspended" })
        expect(bodies()).toBe(before === 0 ? 0 : 1)
        const { obligations } = await go(loom.client.obligations({ ownerId }))
        const ofParent = obligations.filter(({ threadId }) => threadId === "p")
        expect(ofParent).toContainEqual(expect.objectContaining({ blocker: "child", name: "kid" }))
        const [told] = await loom.explain("p")
        expect(told?.waits).toMatchObject([
          {
            blocker: "child",
            name: "kid",
            message: expect.stringContaining("the child on thread"),
          },
        ])
        const child = obligations.find(({ threadId }) => threadId !== "p")
        if (before > 0) expect(child).toMatchObject({ blocker: "fault" })
        else expect(ofParent.map(({ blocker }) => blocker)).toContain("outbox")

        is("is here")
        await pass([loom], 10 * minute)
        expect(await loom.status("p", submissionId)).toMatchObject({
          state: "settled",
          settlement: { outcome: "completed", output: 7 },
        })
        expect(bodies()).toBe(1)
        expect(await go(loom.client.obligations({ ownerId }))).toEqual({ obligations: [] })
      })
})
