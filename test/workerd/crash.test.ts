/**
 * The crash matrix: an object dies once at every failpoint, before and after the block, in the real
 * runtime. Nothing drives the work but the alarm, and the client's retry of a submit that was lost.
 */
import { evictDurableObject } from "cloudflare:test"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { Unavailable } from "../../contracts/Errors.ts"
import {
  AgentId,
  IdempotencyKey,
  RecordId,
  StepName,
  ThreadId,
} from "../../contracts/Identifiers.ts"
import type { JournalRecord } from "../../contracts/JournalRecord.ts"
import type { LaneReport } from "../../contracts/LaneReport.ts"
import type { Receipt } from "../../contracts/Submission.ts"
import { ownerFailpoints } from "../../owner-object/Owner.ts"
import { threadFailpoints } from "../../thread-actors/ThreadFailpoints.ts"
import { bodies, payments } from "./loom-agents.ts"
import { wavesMade, wavesWanted, withoutGuest } from "./loom-control.ts"
import { given as published, recordsIn } from "./loom-sink.ts"
import type { Profile } from "./loom-worker.ts"
import { expectContiguous, type Loom, normalised, openLoom } from "./loom.ts"

const key = "once"

/** What is done, and how often each of its steps may have started when the thread never died. */
interface Story {
  readonly threadDies?: true
  /** Of which owner; `quick` without it. */
  readonly profile?: Profile
  readonly tell: (loom: Loom) => Effect.Effect<Receipt, unknown>
}

const plain: Story = { tell: (loom) => loom.accepted({ key }) }

/** The thread's object is lost in the run, which then has to be recovered. */
const lostRun: Story = {
  threadDies: true,
  tell: (loom) => {
    loom.plan("thread", "step:after")
    return loom.accepted({ key })
  },
}

/** The thread's object is lost in the run, and again while it recovers. */
const lostRecovery: Story = {
  threadDies: true,
  tell: (loom) => {
    loom.plan("thread", "step:after")
    loom.plan("thread", "recover:before")
    return loom.accepted({ key })
  },
}

/** The thread's object is lost in its first turn, which leaves its lane to be visited. */
const lostTurn: Story = {
  threadDies: true,
  tell: (loom) => {
    loom.plan("thread", "claim:after")
    return loom.accepted({ key })
  },
}

/** The owner is lost in the middle of the submit: only a fenced visit clears that. */
const lostSubmit: Story = {
  tell: (loom) => {
    loom.plan("owner", "body:after")
    return loom.accepted({ key })
  },
}

/** The run goes on longer than its turn waits, so that its end is pushed. */
const longRun: Story = {
  tell: Effect.fnUntraced(function* (loom) {
    const receipt = yield* loom.accepted({ key, input: { value: 1, gate: "way" } })
    yield* loom.until("the owner knows that it runs", async () => {
      const { rows } = await loom.rows()
      return rows["maintenance"]?.[0]?.["running"] === 1
    })
    yield* loom.open("way")
    return receipt
  }),
}

/** The agent is gone when the submission's turn comes, and back a while later. */
const goneAgent: Story = {
  tell: Effect.fnUntraced(function* (loom) {
    const held = loom.plan("owner", "begin:before", "hold")
    const receipt = yield* loom.accepted({ key, agent: "guest", input: null })
    yield* loom.until("the pass is held", () => held.reached)
    withoutGuest.add(loom.ownerId)
    yield* loom.killThread()
    yield* loom.inOwner(() => held.release())
    yield* loom.until("the lane waits for the agent", async () => {
      const { rows } = await loom.rows()
      return String(rows["lanes"]?.[0]?.["marks"]).includes("binding")
    })
    withoutGuest.delete(loom.ownerId)
    yield* loom.killThread()
    return receipt
  }),
}

const words = { author: "ann", reason: "the test says so" }

/** As a caller does who is told that it may try again. */
const patiently = <A, E>(call: Effect.Effect<A, E>) =>
  Effect.retry(call, {
    while: (error) => error instanceof Unavailable && error.retryable,
    times: 5,
  })

/** A neighbour that has settled its work is forgotten. */
const forgottenNeighbour: Story = {
  tell: Effect.fnUntraced(function* (loom) {
    const neighbour = yield* loom.accepted({ key, thread: "b" })
    yield* loom.settled(neighbour)
    yield* patiently(
      loom.client.rpc.forgetThread({
        ...words,
        ownerId: loom.ownerId,
        threadId: ThreadId.make("b"),
        abort: true,
      }),
    )
    return yield* loom.accepted({ key })
  }),
}

/** A submission and others of the same call, for this thread and another. */
const batched: Story = {
  tell: Effect.fnUntraced(function* (loom) {
    yield* loom.manyAccepted([{ key }, { key: "second", thread: "b" }])
    return yield* loom.accepted({ key })
  }),
}

/** The work of a neighbour is aborted, and done again. */
const resubmittedNeighbour: Story = {
  tell: Effect.fnUntraced(function* (loom) {
    const thread = { ...words, ownerId: loom.ownerId, threadId: ThreadId.make("b") }
    yield* patiently(loom.client.rpc.pauseThread(thread))
    const { submissionId } = yield* loom.accepted({ key: "first", thread: "b" })
    yield* patiently(loom.client.rpc.abort({ ...thread, submissionId }))
    yield* patiently(loom.client.rpc.resumeThread(thread))
    const idempotencyKey = IdempotencyKey.make("again")
    yield* patiently(loom.client.rpc.resubmit({ ...thread, submissionId, idempotencyKey }))
    return yield* loom.accepted({ key })
  }),
}

/** The thread is paused before it is given its work; somebody says retry; then it is resumed. */
const pausedThread: Story = {
  tell: Effect.fnUntraced(function* (loom) {
    const thread = { ...words, ownerId: loom.ownerId, threadId: ThreadId.make("a") }
    yield* patiently(loom.client.rpc.pauseThread(thread))
    const receipt = yield* loom.accepted({ key })
    const { submissionId } = receipt
    yield* patiently(loom.client.rpc.retry({ ...thread, submissionId }))
    yield* patiently(loom.client.rpc.resumeThread(thread))
    return receipt
  }),
}

/** A provider is paid. */
const paidCall: Story = { tell: (loom) => loom.accepted({ key, agent: "pay", input: null }) }

/** A provider is paid and never says so, until somebody does who knows. */
const doubtedCall: Story = {
  tell: Effect.fnUntraced(function* (loom) {
    const receipt = yield* loom.accepted({ key, agent: "doubt", input: null })
    let recordId: string | undefined
    yield* loom.until("its call waits for a word", async () => {
      const { rows } = await loom.rows()
      const report = JSON.parse(String(rows["lanes"]?.[0]?.["report"] ?? null)) as LaneReport | null
      recordId = report?.parked === 1 ? report.waits[0]?.recordId : undefined
      return recordId !== undefined
    })
    const { ownerId, submissionId, threadId } = receipt
    yield* patiently(
      loom.client.rpc.resolveUnknown({
        ...words,
        ownerId,
        threadId,
        submissionId,
        recordId: RecordId.make(String(recordId)),
        resolution: { _tag: "CompletedWithResult", result: "paid" },
      }),
    )
    return receipt
  }),
}

/** Somebody is asked, and says yes. */
const askedRun: Story = {
  tell: Effect.fnUntraced(function* (loom) {
    const receipt = yield* loom.accepted({ key, agent: "ask", input: null })
    yield* loom.until("it waits for a decision", async () => {
      const { rows } = await loom.rows()
      const report = JSON.parse(String(rows["lanes"]?.[0]?.["report"] ?? null)) as LaneReport | null
      return report?.waits[0]?.blocker === "approval"
    })
    const { ownerId, submissionId, threadId } = receipt
    const about = { ownerId, threadId, submissionId, name: StepName.make("ok"), approved: true }
    yield* patiently(loom.client.rpc.resolveApproval({ ...words, ...about }))
    return receipt
  }),
}

/** The run takes inputs, sends a message and has children. */
const talkingRun: Story = { tell: (loom) => loom.accepted({ key, agent: "talk", input: null }) }

/** The run has a child that it does not wait for any more: it is told to end, and joined. */
const leavingRun: Story = { tell: (loom) => loom.accepted({ key, agent: "leave", input: null }) }

/** A neighbour gives itself an input each second, until it is told not to any more. */
const scheduledNeighbour: Story = {
  tell: Effect.fnUntraced(function* (loom) {
    const thread = { ownerId: loom.ownerId, threadId: ThreadId.make("b") }
    const name = StepName.make("tick")
    const given = { cron: "* * * * * *", agent: AgentId.make("noop"), input: null }
    yield* patiently(loom.client.rpc.schedule({ ...thread, ...given, name }))
    yield* loom.until("it has given itself two", async () => {
      const { rows } = await loom.rows()
      const lane = rows["lanes"]?.find((row) => row["thread_id"] === "b")
      const report = JSON.parse(String(lane?.["report"] ?? null)) as LaneReport | null
      return (report?.tailSequence ?? 0) >= 4
    })
    yield* patiently(loom.client.rpc.unschedule({ ...thread, name }))
    return yield* loom.accepted({ key })
  }),
}

/** The run goes on for ever, until its caller aborts it: as often as it is told to try again. */
const abortedRun: Story = {
  threadDies: true,
  tell: Effect.fnUntraced(function* (loom) {
    const receipt = yield* loom.accepted({ key, agent: "hang", input: null })
    yield* loom.until("it runs", () => starts(loom, "hang") > 0)
    const { ownerId, submissionId } = receipt
    const threadId = ThreadId.make("a")
    yield* patiently(loom.client.rpc.abort({ ...words, ownerId, threadId, submissionId }))
    return receipt
  }),
}

/** The stories whose journal is not that of a plain submission. */
const ownJournal: ReadonlyArray<Story> = [
  goneAgent,
  longRun,
  abortedRun,
  pausedThread,
  paidCall,
  doubtedCall,
  askedRun,
  talkingRun,
  leavingRun,
]

/** The stories that take none of the steps which are counted. */
const without = [goneAgent, abortedRun, paidCall, doubtedCall, askedRun, talkingRun, leavingRun]

/** What the retry of the submit says. */
const submitted = (story: Story) => {
  if (story === goneAgent) return { key, agent: "guest", input: null }
  if (story === abortedRun) return { key, agent: "hang", input: null }
  if (story === paidCall) return { key, agent: "pay", input: null }
  if (story === doubtedCall) return { key, agent: "doubt", input: null }
  if (story === askedRun) return { key, agent: "ask", input: null }
  if (story === talkingRun) return { key, agent: "talk", input: null }
  if (story === leavingRun) return { key, agent: "leave", input: null }
  return { key, input: story === longRun ? { value: 1, gate: "way" } : { value: 1 } }
}

/** A host lane makes a wave beside the submission. */
const hosted: Story = {
  tell: Effect.fnUntraced(function* (loom) {
    wavesWanted.set(loom.ownerId, 1)
    return yield* plain.tell(loom)
  }),
}

/** The records of the submission are published. */
const publishedRun: Story = { profile: "published", tell: plain.tell }

const stories: Record<string, Story> = {
  "thread admitMany": batched,
  "thread resubmit": resubmittedNeighbour,
  "thread prepare": paidCall,
  "thread settleTool": paidCall,
  "thread suspend": doubtedCall,
  "thread resolve": doubtedCall,
  "thread wait": askedRun,
  "thread decide": askedRun,
  "thread send": talkingRun,
  "thread child": talkingRun,
  "thread join": talkingRun,
  "thread settleChild": talkingRun,
  "thread acknowledge": talkingRun,
  "thread publish": publishedRun,
  "owner publish": publishedRun,
  "owner claim": talkingRun,
  "owner deliver": talkingRun,
  "owner acknowledge": talkingRun,
  "thread abortChild": leavingRun,
  "thread schedule": scheduledNeighbour,
  "thread upkeep": scheduledNeighbour,
  "thread abort": abortedRun,
  "thread retry": pausedThread,
  "thread pause": pausedThread,
  "thread forget": forgottenNeighbour,
  "owner condemn": forgottenNeighbour,
  "owner forget": forgottenNeighbour,
  "thread recover": lostRun,
  "owner recover": lostRun,
  "owner fault": lostRecovery,
  "owner visit": lostTurn,
  "thread fence": lostSubmit,
  "thread report": longRun,
  "owner binding": goneAgent,
  "owner host": hosted,
}

/** How a lost call was found out about differs between equal runs. */
const ofCalls = new Set(["ToolPrepared", "ToolResolved", "ToolSettled"])

/** What each loom draws for itself: names of owners, ids of children, times. */
const drawn = /"(?:ownerId|threadId|childId)":"(?:quick\.|child:)?[^"]{9,}"|"dueAt":\d+/g

const journalIn = (story: Story, records: ReadonlyArray<JournalRecord>) =>
  normalised(story === paidCall ? records.filter(({ kind }) => !ofCalls.has(kind)) : records).map(
    (line) => line.replaceAll(drawn, "…"),
  )

const undisturbed = new Map<Story, ReadonlyArray<string>>()

/** The journal of the same submission when nothing dies. */
const journalOf = Effect.fnUntraced(function* (story: Story) {
  const known = undisturbed.get(story)
  if (known !== undefined) return known
  const loom = yield* openLoom("quick")
  const calm = ownJournal.includes(story) ? story : plain
  yield* loom.settled(yield* calm.tell(loom))
  const journal = journalIn(story, yield* loom.history())
  undisturbed.set(story, journal)
  return journal
})

const expectOnce = Effect.fnUntraced(function* (loom: Loom, story: Story, receipt: Receipt) {
  const settlement = yield* loom.settled(receipt)
  const outcome = story === abortedRun ? "aborted" : "completed"
  expect(settlement).toMatchObject({ outcome, sequence: 1 })
  yield* loom.quiet
  const again = yield* loom.accepted(submitted(story))
  expect(again).toEqual({ ...receipt, duplicate: true })
  yield* loom.quiet
  const records = yield* loom.history()
  expectContiguous(records)
  expect(journalIn(story, records)).toEqual(yield* journalOf(story))
})

/** Of a thread that was forgotten no lane is left, and nothing but the word that it was. */
const expectForgotten = Effect.fnUntraced(function* (loom: Loom, name: string) {
  yield* loom.until("its lane is gone", async () => {
    const { rows } = await loom.rows()
    return rows["lanes"]?.every((lane) => lane["thread_id"] !== name) === true
  })
  const error = yield* Effect.flip(loom.history(name))
  expect(error).toMatchObject({ _tag: "ThreadForgotten" })
})

/** What was aborted was done again, once. */
const expectResubmitted = Effect.fnUntraced(function* (loom: Loom, name: string) {
  const records = yield* loom.history(name)
  expectContiguous(records)
  expect(records.map(({ kind }) => kind).filter((kind) => kind !== "AttemptInterrupted")).toEqual([
    "AbortRequested",
    "Settled",
    "Resubmitted",
    "InputApplied",
    "Progress",
    "StepCompleted",
    "StateChanged",
    "StepCompleted",
    "Settled",
  ])
})

/** Each occurrence was one submission, which was settled: none was lost in the middle. */
const expectScheduled = Effect.fnUntraced(function* (loom: Loom, name: string) {
  const records = yield* loom.history(name)
  expectContiguous(records)
  const kinds = records.map(({ kind }) => kind).filter((kind) => kind !== "AttemptInterrupted")
  expect(kinds.length).toBeGreaterThanOrEqual(4)
  expect(kinds).toEqual(kinds.map((_, at) => (at % 2 === 0 ? "InputApplied" : "Settled")))
})

/** What the queue was given is what the thread has, without a gap. */
const expectPublished = Effect.fnUntraced(function* (loom: Loom) {
  expect(recordsIn(published, loom.ownerId)).toEqual(yield* loom.history())
})

const objects = [
  ...threadFailpoints.map((name) => ({ kind: "thread" as const, name })),
  ...ownerFailpoints.map((name) => ({ kind: "owner" as const, name })),
]

const starts = (loom: Loom, step: string) => bodies.get(`${loom.ownerId}/a#1 ${step}`) ?? 0

describe("a crash", () => {
  for (const { kind, name } of objects) {
    const story = stories[`${kind} ${name}`] ?? plain
    for (const side of ["before", "after"]) {
      it.live(`of the ${kind} at ${name}:${side} converges by the alarm alone`, () =>
        Effect.gen(function* () {
          const loom = yield* openLoom(story.profile ?? "quick")
          const death = loom.plan(kind, `${name}:${side}`)
          const receipt = yield* story.tell(loom)
          yield* loom.until("the object died", () => death.reached)
          yield* expectOnce(loom, story, receipt)
          if (story === forgottenNeighbour) yield* expectForgotten(loom, "b")
          if (story === resubmittedNeighbour) yield* expectResubmitted(loom, "b")
          if (story === scheduledNeighbour) yield* expectScheduled(loom, "b")
          if (story === paidCall || story === doubtedCall) {
            expect(payments.get(`${loom.ownerId}/a charge`)).toBe(1)
          }
          if (story === publishedRun) yield* expectPublished(loom)
          if (story === hosted) expect(wavesMade.get(loom.ownerId)).toBeGreaterThan(0)
          if (without.includes(story)) return
          // A body runs again only if the object that ran it was lost.
          const lost = kind === "thread" || story.threadDies === true
          for (const step of ["first", "second"]) {
            expect(starts(loom, step)).toBeGreaterThanOrEqual(1)
            expect(starts(loom, step)).toBeLessThanOrEqual(lost ? 2 : 1)
          }
        }),
      )
    }
  }
})

describe("a crash of the owner in a call of many submissions", () => {
  for (const name of ["enroll", "body", "finish"])
    for (const side of ["before", "after"]) {
      it.live(`at ${name}:${side} converges by the alarm alone`, () =>
        Effect.gen(function* () {
          const loom = yield* openLoom("quick")
          const death = loom.plan("owner", `${name}:${side}`)
          const items = ["a 1", "b 1", "a 2", "c 1"].map((text) => ({
            key: text,
            thread: text.slice(0, 1),
          }))
          const receipts = yield* loom.manyAccepted(items)
          yield* loom.until("the object died", () => death.reached)
          const ends = yield* Effect.forEach(receipts, loom.settled)
          expect(ends).toMatchObject(
            [1, 1, 2, 1].map((sequence) => ({ sequence, outcome: "completed" })),
          )
          yield* loom.quiet
          const again = yield* loom.manyAccepted(items)
          expect(again).toEqual(receipts.map((one) => ({ ...one, duplicate: true })))
          yield* loom.quiet
        }),
      )
    }
})

describe("a graceful eviction", () => {
  for (const { kind, name } of objects) {
    const story = stories[`${kind} ${name}`] ?? plain
    it.live(`of the ${kind} behind ${name} changes nothing`, () =>
      Effect.gen(function* () {
        const loom = yield* openLoom(story.profile ?? "quick")
        const noted = loom.plan(kind, `${name}:after`, "note")
        const receipt = yield* story.tell(loom)
        yield* loom.until("the block was written", () => noted.reached)
        yield* Effect.promise(() =>
          evictDurableObject(kind === "owner" ? loom.owner() : loom.thread("a")),
        )
        yield* expectOnce(loom, story, receipt)
      }),
    )
  }
})
