/** What an owner owes, why it is not done yet, and how old it is: from its own rows alone. */
import { Context, Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { AllowedRole, type Authorizer } from "../../../contracts/Authorization.ts"
import { OperationDenied } from "../../../contracts/Errors.ts"
import { RecordId, type SubmissionId, ThreadId } from "../../../contracts/Identifiers.ts"
import type { LaneReport } from "../../../contracts/LaneReport.ts"
import { Obligation } from "../../../contracts/Obligation.ts"
import { OwnerRpc } from "../../../contracts/OwnerRpc.ts"
import type { RecoveryFault } from "../../../contracts/Recovery.ts"
import type { Lane } from "../../../owner-object/Lane.ts"
import { obligationsOf } from "../../../owner-object/Obligations.ts"
import { callOf, type Group, rpcsOf, samplesOf } from "../../conformance/transport.ts"
import {
  condemnedBy,
  headOf,
  laneOf,
  now,
  ready,
  reportOf,
  running,
  submissionId,
  threadId,
} from "./lanes.ts"
import { makeOwnerWorld, ownerId } from "./OwnerWorld.ts"

const go = Effect.runPromise
const second = 1_000
const agedAfterMillis = 60 * second
const recordId = RecordId.make("ab".repeat(16))
const other = "01890000-0000-7000-8000-000000000002" as SubmissionId

const fault: RecoveryFault = {
  schemaVersion: 1,
  threadId,
  firstFailedAt: now - 90 * second,
  lastFailedAt: now - second,
  retryAt: now + 4 * second,
  attempts: 3,
  failure: {
    phase: "history",
    operation: "recover",
    reason: "failure",
    tag: "ThreadUnreadable",
    message: "rows or records of the thread do not decode",
  },
}

const owed = (fields: Partial<Lane>, known?: RecoveryFault) =>
  obligationsOf(laneOf(fields), { now, agedAfterMillis, fault: known })

/** A head accepted so long ago. */
const aged = (state: "ready" | "running" | "suspended", ageMillis: number) => ({
  ...headOf(state),
  acceptedAt: now - ageMillis,
})

const parked = (sinceAt: number, id = submissionId): LaneReport["waits"][number] => ({
  submissionId: id,
  blocker: "unknown",
  name: "pay-back",
  recordId,
  sinceAt,
})

describe("what is owed", () => {
  const head = aged("ready", 5 * second)
  const binding = {
    submissionId,
    attempts: 2,
    sinceAt: now - 30 * second,
    notBefore: now + second,
    reportedAt: now,
    agentsDigest: "agents",
    name: "refund",
  }
  const rows: ReadonlyArray<readonly [string, Partial<Lane>, Partial<Obligation>]> = [
    [
      "stalled",
      {
        report: ready({ head }),
        marks: { stalls: 2, stalledSinceAt: now - 61 * second, stalledUntilAt: now + second },
      },
      { blocker: "stalled", sinceAt: now - 61 * second, severity: "aging" },
    ],
    [
      "binding",
      { report: ready({ head }), marks: { binding } },
      { blocker: "binding", name: "refund", sinceAt: now - 30 * second },
    ],
    [
      "backoff",
      { report: ready({ head }), mustVisit: true, marks: { failures: 2, failingSinceAt: now - 7 } },
      { blocker: "backoff", sinceAt: now - 7 },
    ],
    [
      "paused, since its thread says so",
      { report: ready({ head, paused: true, pausedAt: now - 3 }) },
      { blocker: "paused", sinceAt: now - 3 },
    ],
    [
      "paused, since its head is owed",
      { report: ready({ head, paused: true }) },
      { blocker: "paused", sinceAt: now - 5 * second },
    ],
    [
      "timer",
      { report: ready({ head: aged("suspended", second), dueAt: now + 9 }) },
      { blocker: "timer", state: "suspended", sinceAt: now - second },
    ],
    [
      "timer, of a call that may still end",
      { report: reportOf({ nonterminal: 1, head: aged("suspended", second), recoverAt: now + 9 }) },
      { blocker: "timer", sinceAt: now - second },
    ],
    [
      "condemned",
      { report: ready({ head }), marks: { condemned: condemnedBy({ sinceAt: now - 4 }) } },
      { blocker: "condemned", sinceAt: now - 4 },
    ],
  ]
  it.each(rows)("tells what holds the whole lane: %s", (_, lane, expected) => {
    const [one, ...rest] = owed(lane)
    expect(rest).toEqual([])
    expect(one).toMatchObject({ submissionId, agent: "agent", nonterminal: 1, ...expected })
  })

  it("tells a fault since its first failure, and nothing weaker beside it", () => {
    const marks = { faultRetryAt: fault.retryAt, failures: 3, stalledUntilAt: now + 1 }
    const report = ready({ head: aged("ready", 300 * second), paused: true })
    expect(owed({ report, mustVisit: true, marks }, fault)).toEqual([
      {
        threadId,
        submissionId,
        agent: "agent",
        state: "ready",
        blocker: "fault",
        name: "ThreadUnreadable",
        sinceAt: fault.firstFailedAt,
        ageMillis: 90 * second,
        severity: "aging",
        nonterminal: 1,
      },
    ])
  })

  it("tells a fault also of a thread that was never heard of", () => {
    const [one] = owed({ marks: { faultRetryAt: now } }, fault)
    expect(one).toMatchObject({ blocker: "fault", nonterminal: 0 })
    expect(one).not.toHaveProperty("submissionId")
  })

  it("tells each call that waits for a word, with what a word names", () => {
    const waits = [parked(now - 400 * second), parked(now - second, other)]
    const obligations = owed({ report: reportOf({ nonterminal: 2, parked: 2, waits }) })
    expect(obligations).toMatchObject([
      { blocker: "unknown", submissionId, recordId, name: "pay-back", severity: "overdue" },
      { blocker: "unknown", submissionId: other, recordId, severity: "ok", state: "unknown" },
    ])
  })

  it("says by one more entry that more is parked than a report tells", () => {
    const waits = [parked(now - 9), parked(now - 8), parked(now - 7, other)]
    const told = (count: number) => owed({ report: reportOf({ parked: count, waits }) })
    expect(told(2)).toHaveLength(3)
    expect(told(5)).toHaveLength(4)
    expect(told(5)[3]).toMatchObject({ blocker: "unknown", sinceAt: now - 7 })
    expect(told(5)[3]).not.toHaveProperty("submissionId")
  })

  it("tells what waits besides what holds the lane", () => {
    const report = ready({ head, paused: true, nonterminal: 2, parked: 1, waits: [parked(now)] })
    expect(owed({ report }).map(({ blocker }) => blocker)).toEqual(["paused", "unknown"])
  })

  it("tells a pause also of a thread whose work is all parked", () => {
    const waits = [parked(now - 9)]
    const report = reportOf({ paused: true, pausedAt: now - 3, nonterminal: 1, parked: 1, waits })
    expect(owed({ report })).toMatchObject([
      { blocker: "paused", sinceAt: now - 3 },
      { blocker: "unknown", recordId },
    ])
    const { pausedAt: _at, ...unsaid } = report
    expect(owed({ report: unsaid })).toMatchObject([{ blocker: "paused", sinceAt: now - 9 }, {}])
  })

  it.each(["running", "suspended"] as const)(
    "tells each tool that a %s head lacks, and nothing weaker beside it",
    (state) => {
      const lacks = (name: string): LaneReport["waits"][number] => ({
        submissionId,
        blocker: "binding",
        name,
        sinceAt: now - 8,
      })
      const report = reportOf({
        head: aged(state, 9 * agedAfterMillis),
        recoverAt: now + 9,
        nonterminal: 1,
        waits: [lacks("payment"), lacks("mail")],
      })
      const marks = { binding: { ...binding, name: "payment", ofTool: true as const } }
      for (const lane of [{ report }, { report, marks }]) {
        expect(owed(lane)).toMatchObject([
          { blocker: "binding", name: "payment", state, agent: "agent", sinceAt: now - 8 },
          { blocker: "binding", name: "mail", state, agent: "agent", sinceAt: now - 8 },
        ])
      }
    },
  )

  it("does not tell a suspended head twice whose wait is told", () => {
    const waits = [{ submissionId, blocker: "approval" as const, name: "refund", sinceAt: now }]
    const report = reportOf({ head: aged("suspended", 9), dueAt: now + 9, nonterminal: 1, waits })
    expect(owed({ report })).toMatchObject([
      { blocker: "approval", state: "suspended", agent: "agent" },
    ])
  })

  it("tells work that is deferred as waiting for its time", () => {
    const deferred = (dueAt: number) => owed({ report: reportOf({ nonterminal: 1, dueAt }) })
    expect(deferred(now + second)).toMatchObject([{ blocker: "timer", ageMillis: 0 }])
    expect(deferred(now - second)).toMatchObject([{ blocker: "timer", ageMillis: second }])
  })

  it("tells an outbox that is not delivered, also of a thread without open work", () => {
    const report = reportOf({ outboxAt: 0 })
    expect(owed({ report, outboxTicket: (now - 2 * second) * 1_000 })).toMatchObject([
      { blocker: "outbox", sinceAt: now - 2 * second, nonterminal: 0 },
    ])
    const outbox = { failures: 3, sinceAt: now - 9 * second, untilAt: now + second }
    const outboxTicket = (now + second) * 1_000
    expect(owed({ report, outboxTicket, marks: { outbox } })).toMatchObject([
      { blocker: "outbox", sinceAt: now - 9 * second },
    ])
  })

  it.each([
    ["an idle thread", { report: reportOf() }],
    ["a thread that is paused and holds nothing", { report: reportOf({ paused: true }) }],
    [
      "a wait for an agent that belongs to another head",
      {
        report: ready({ head }),
        marks: { binding: { ...binding, submissionId: other } },
      },
    ],
    [
      "a wait for an agent that an attempt has had since",
      {
        report: reportOf({ head: aged("suspended", 5 * second), nonterminal: 1 }),
        marks: { binding },
      },
    ],
    ["failures that a visit has ended", { report: reportOf(), marks: { failures: 1 } }],
  ])("tells nothing of %s", (_, lane) => {
    expect(owed(lane)).toEqual([])
  })
})

describe("the age of what is merely ready or running", () => {
  it.each([
    [agedAfterMillis - 1, undefined],
    [agedAfterMillis, "aging"],
    [4 * agedAfterMillis - 1, "aging"],
    [4 * agedAfterMillis, "overdue"],
  ] as const)("at %i ms makes it %s", (ageMillis, severity) => {
    for (const state of ["ready", "running"] as const) {
      const report = (state === "ready" ? ready : running)({ head: aged(state, ageMillis) })
      const expected = { blocker: `${state}-aged`, ageMillis, severity, sinceAt: now - ageMillis }
      expect(owed({ report })).toMatchObject(severity === undefined ? [] : [expected])
    }
  })

  it("is not told where something else is in its way", () => {
    const report = ready({ head: aged("ready", 9 * agedAfterMillis), paused: true })
    expect(owed({ report }).map(({ blocker }) => blocker)).toEqual(["paused"])
  })

  it("is told by the contract as it is", () => {
    const told = owed({ report: ready({ head: aged("ready", 9 * agedAfterMillis) }) })
    for (const one of told) expect(Schema.encodeUnknownSync(Obligation)(one)).toEqual(one)
  })
})

describe("obligations of an owner", () => {
  const withThreads = async (names: ReadonlyArray<string>, limits = {}) => {
    const world = makeOwnerWorld({ limits: { bindingWaitMillis: 60_000, ...limits } })
    for (const name of names) {
      const thread = world.thread(name)
      thread.turn = "binding"
      if (name.startsWith("idle")) thread.turn = "settle"
      await go(world.submit(name))
    }
    await world.alarmsUntil("all had their turn", () =>
      names.every((name) => world.thread(name).turns > 0),
    )
    await world.until("the pass ended", () => !world.isDelivering())
    return world
  }

  it("come in pages by thread id, each thread once", async () => {
    const names = ["a", "b", "c", "d", "e"]
    const world = await withThreads(names)
    const seen: Array<string> = []
    let after: ThreadId | undefined
    for (let page = 0; page < 9; page++) {
      const answer = await go(
        world.client.obligations({ ownerId, limit: 2, ...(after === undefined ? {} : { after }) }),
      )
      expect(answer.obligations.length).toBeLessThanOrEqual(2)
      seen.push(...answer.obligations.map((one) => one.threadId))
      after = answer.next
      if (after === undefined) break
    }
    expect(seen).toEqual(names)
  })

  it("look at a bounded number of lanes a page, and go on behind them", async () => {
    const names = ["idle-1", "idle-2", "idle-3", "z"]
    const world = await withThreads(names, { obligationLanes: 2 })
    const first = await go(world.client.obligations({ ownerId }))
    expect(first).toEqual({ obligations: [], next: "idle-2" })
    const { next } = first
    if (next === undefined) throw new Error("no next page")
    const read = world.storage.counts().read
    const rest = await go(world.client.obligations({ ownerId, after: next }))
    expect(rest.obligations).toMatchObject([{ threadId: "z", blocker: "binding", name: "agent" }])
    expect(world.storage.counts().read - read).toBeLessThanOrEqual(2)
  })

  it("are read without a call of any thread, and write nothing", async () => {
    const world = await withThreads(["a"])
    const thread = world.thread("a")
    const before = [world.storage.dump(), thread.turns, thread.visits, thread.recoveries]
    expect(await go(world.client.obligations({ ownerId, agedAfterMillis: 0 }))).toMatchObject({
      obligations: [{ threadId: "a" }],
    })
    const after = [world.storage.dump(), thread.turns, thread.visits, thread.recoveries]
    expect(after).toEqual(before)
  })

  it("of an owner nobody has written to are none, and make no tables", async () => {
    const world = makeOwnerWorld()
    const before = world.storage.dump()
    expect(await go(world.client.obligations({ ownerId }))).toEqual({ obligations: [] })
    expect(world.storage.dump()).toBe(before)
  })

  it("that only wait for somebody are told, and hold no alarm", async () => {
    const world = makeOwnerWorld()
    const tells: Record<string, Partial<LaneReport>> = {
      approval: { waits: [{ submissionId, blocker: "approval", name: "refund", sinceAt: 1 }] },
      unknown: { parked: 1, waits: [parked(1)] },
    }
    for (const [name, told] of Object.entries(tells)) {
      const thread = world.thread(name)
      await go(world.submit(name))
      const { head: _head, dueAt: _due, ...rest } = thread.report()
      thread.turn = "unchanged"
      thread.onTurn = () => {
        thread.replaces = { ...rest, ...told, revision: rest.revision + 1 }
      }
    }
    await go(
      world.client.pauseThread({
        ownerId,
        threadId: ThreadId.make("paused"),
        author: "ann",
        reason: "audit",
      }),
    )
    await go(world.submit("paused"))
    await world.quiet()
    expect(world.storage.alarmAt()).toBeNull()
    const { obligations } = await go(world.client.obligations({ ownerId }))
    expect(obligations.map((one) => [one.threadId, one.blocker])).toEqual([
      ["approval", "approval"],
      ["paused", "paused"],
      ["unknown", "unknown"],
    ])
    for (const name of ["approval", "unknown", "paused"]) {
      expect(world.lane(name)).toMatchObject({ work: null, next_at: null, enrolled: null })
    }
  })
})

describe("a policy that denies", () => {
  it("keeps every operation of an owner from reading and writing anything", async () => {
    const authorizer: Authorizer = {
      authorize: () => Effect.fail(new OperationDenied({ operation: "anything" })),
    }
    const world = makeOwnerWorld({ authorizer })
    const before = { dump: world.storage.dump(), counts: world.storage.counts() }
    const group = OwnerRpc as unknown as Group
    const open = rpcsOf(group).filter(
      ({ annotations }) => Context.get(annotations, AllowedRole) === "Principal",
    )
    expect(open.length).toBeGreaterThan(10)
    const client = world.client as never
    for (const rpc of open) {
      const [payload] = await go(samplesOf(rpc.payloadSchema, 1))
      const error = await go(
        Effect.flip(callOf(client, rpc, { ...(payload as object), ownerId }, {})),
      )
      expect(error).toMatchObject({ _tag: "OperationDenied", operation: rpc._tag })
    }
    expect(world.storage.dump()).toBe(before.dump)
    expect(world.storage.counts()).toEqual(before.counts)
  })
})
