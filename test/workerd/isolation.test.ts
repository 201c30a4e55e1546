/**
 * Sick threads beside healthy ones: whatever is wrong with some, the others settle as if alone, in the same
 * maintenance event; each of the sick shows what is wrong with it, and heals when its cause goes away.
 */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { ThreadId } from "../../contracts/Identifiers.ts"
import { abandonGate, bodies } from "./loom-agents.ts"
import { killers, withoutGuest } from "./loom-control.ts"
import { expectContiguous, type Loom, normalised, openLoom } from "./loom.ts"

const healthy = Array.from({ length: 20 }, (_, index) => `healthy-${index}`)

/** A run that waits at a gate, its first step recorded. */
const waitingAtGate = Effect.fnUntraced(function* (loom: Loom, thread: string) {
  const receipt = yield* loom.submit({ thread, input: { value: 1, gate: thread } })
  yield* loom.until(`${thread} waits at its gate`, () =>
    bodies.has(`${loom.ownerId}/${thread}#1 gate`),
  )
  return receipt
})

/** The record of the first step as it was; then it is no JSON any more. */
const corrupt = (loom: Loom, thread: string) =>
  loom.inThread(thread, ({ storage }) => {
    const { payload } = storage.sql
      .exec<{ payload: string }>("SELECT payload FROM journal WHERE name = 'first'")
      .one()
    storage.sql.exec(`UPDATE journal SET payload = '{"result":' WHERE name = 'first'`)
    return payload
  })

const restore = (loom: Loom, thread: string, payload: string) =>
  loom.inThread(thread, ({ storage }) => {
    storage.sql.exec("UPDATE journal SET payload = ? WHERE name = 'first'", payload)
  })

const faultOf = (loom: Loom, thread: string) =>
  loom.client.rpc.recoveryStatus({ ownerId: loom.ownerId, threadId: ThreadId.make(thread) })

const untilFaulted = Effect.fnUntraced(function* (loom: Loom, thread: string) {
  let fault = yield* faultOf(loom, thread)
  while (fault._tag === "None") {
    yield* Effect.sleep(5)
    fault = yield* faultOf(loom, thread)
  }
  return fault.value
})

const calmJournal = Effect.fnUntraced(function* (gate: string | undefined) {
  const loom = yield* openLoom("mixed")
  const receipt = yield* loom.submit({
    thread: "calm",
    input: gate === undefined ? { value: 1 } : { value: 1, gate },
  })
  if (gate !== undefined) {
    yield* loom.until("it waits", () => bodies.has(`${loom.ownerId}/calm#1 gate`))
    yield* loom.open(gate, "calm")
  }
  yield* loom.settled(receipt)
  return normalised(yield* loom.history("calm"))
})

describe("threads that cannot go on", () => {
  it.live("hold up none of twenty healthy ones, say what is wrong, and heal", () =>
    Effect.gen(function* () {
      const loom = yield* openLoom("mixed")
      const unreadable = yield* waitingAtGate(loom, "unreadable")
      const hung = yield* waitingAtGate(loom, "hung")

      // The causes are there before one event finds them all.
      const held = loom.plan("owner", "begin:before", "hold")
      killers.add(`${loom.ownerId}/dying`)
      const dying = yield* loom.submit({ thread: "dying" })
      yield* loom.until("the event is held", () => held.reached)
      const hangs = loom.plan("thread", "recover:before", "hold", "hung")
      for (const thread of ["unreadable", "hung"]) {
        yield* loom.killThread(thread)
        abandonGate(`${loom.ownerId}/${thread}`)
      }
      const payload = yield* corrupt(loom, "unreadable")
      // Both are looked at in the event that is held, not when their watch is over.
      for (const thread of ["unreadable", "hung"])
        yield* loom.client.rpc.wake({ ownerId: loom.ownerId, threadId: ThreadId.make(thread) })
      const homeless = yield* loom.submit({ thread: "homeless", agent: "guest", input: null })
      withoutGuest.add(loom.ownerId)
      yield* loom.killThread("homeless")
      const receipts = yield* Effect.forEach(healthy, (thread) => loom.submit({ thread }))
      const another = loom.plan("owner", "begin:before", "note")
      yield* loom.inOwner(() => held.release())

      yield* Effect.forEach(receipts, (receipt) => loom.settled(receipt))
      yield* loom.until("the hung thread is asked", () => hangs.reached)
      const alone = yield* calmJournal(undefined)
      for (const thread of healthy) expect(normalised(yield* loom.history(thread))).toEqual(alone)
      expect(another.reached).toBe(false)

      expect((yield* untilFaulted(loom, "unreadable")).failure).toMatchObject({
        phase: "history",
        tag: "ThreadUnreadable",
      })
      expect((yield* untilFaulted(loom, "hung")).failure).toMatchObject({
        phase: "call",
        reason: "timeout",
        tag: "NoAnswer",
      })
      const owed = yield* loom.client.rpc.obligations({ ownerId: loom.ownerId, agedAfterMillis: 0 })
      const blockers = new Map(owed.obligations.map((one) => [one.threadId, one.blocker]))
      expect(blockers.get(ThreadId.make("unreadable"))).toBe("fault")
      expect(blockers.get(ThreadId.make("hung"))).toBe("fault")
      expect(blockers.get(ThreadId.make("homeless"))).toBe("binding")
      expect(blockers.size).toBe(4)
      yield* loom.until("the dying thread has lost three attempts", async () => {
        const { records } = await Effect.runPromise(
          Effect.orDie(
            loom.client.rpc.history({ ownerId: loom.ownerId, threadId: ThreadId.make("dying") }),
          ),
        )
        return records.filter(({ kind }) => kind === "AttemptInterrupted").length >= 3
      })

      killers.delete(`${loom.ownerId}/dying`)
      withoutGuest.delete(loom.ownerId)
      yield* loom.killThread("homeless")
      yield* restore(loom, "unreadable", payload)
      yield* loom.inThread("hung", () => hangs.release())
      for (const gate of ["unreadable", "hung"]) yield* loom.open(gate, gate)

      for (const receipt of [unreadable, hung, dying, homeless])
        expect(yield* loom.settled(receipt)).toMatchObject({ outcome: "completed", sequence: 1 })
      for (const thread of ["unreadable", "hung"]) {
        yield* loom.until(
          `${thread} has no fault left`,
          async () =>
            (await Effect.runPromise(Effect.orDie(faultOf(loom, thread))))._tag === "None",
        )
        const records = yield* loom.history(thread)
        expectContiguous(records)
        expect(normalised(records)).toEqual(yield* calmJournal(thread))
      }
      yield* loom.idle
    }),
  )
})
