/** What operators say about a submission or a thread, on its way through the owner's gate. */
import { Effect, Option, type Schema } from "effect"
import { describe, expect, it } from "vitest"
import { callerHeaders } from "../../../contracts/Authorization.ts"
import {
  AgentId,
  type Generation,
  RecordId,
  StepName,
  type SubmissionId,
  ThreadId,
} from "../../../contracts/Identifiers.ts"
import { makeOwnerWorld, ownerId } from "./OwnerWorld.ts"

const go = Effect.runPromise
type World = ReturnType<typeof makeOwnerWorld>

const words = { author: "ann", reason: "looked at it" }
const submissionId = "018f0000-0000-7000-8000-000000000009" as SubmissionId
const recordId = RecordId.make("ab".repeat(16))
const name = StepName.make("carrier")
const agent = AgentId.make("refund")
const place = (thread: string) => ({ ownerId, threadId: ThreadId.make(thread) })
const address = (thread: string) => ({ ...place(thread), ...words })

/** What each command's thread is told besides who called, and by which name if that is another. */
const told: Record<string, object> = {
  pause: words,
  resume: words,
  retry: { ...words, submissionId },
  resolveApproval: { ...words, submissionId, name, approved: true },
  signal: { submissionId, name, payload: { paid: true } },
  callback: { submissionId, name, payload: { paid: true } },
  schedule: { name, cron: "0 3 * * *", agent, input: { n: 1 } },
  unschedule: { name },
  resolveUnknown: { ...words, recordId, resolution: { result: { paid: true } } },
}
const year2100 = 4_102_444_800_000
const farFence = `${String(year2100).padStart(15, "0")}-0000000007` as Generation

/** Every command that passes the gate, as a caller sends it and as its thread gets it. */
const commands: Record<string, (world: Pick<World, "client">) => Effect.Effect<unknown, unknown>> =
  {
    pause: (world) => world.client.pauseThread(address("a")),
    resume: (world) => world.client.resumeThread(address("a")),
    retry: (world) => world.client.retry({ ...address("a"), submissionId }),
    resolveApproval: (world) =>
      world.client.resolveApproval({ ...address("a"), submissionId, name, approved: true }),
    signal: (world) =>
      world.client.signal({ ...place("a"), submissionId, name, payload: { paid: true } }),
    callback: (world) =>
      world.client.callback({ ...place("a"), submissionId, name, payload: { paid: true } }),
    schedule: (world) =>
      world.client.schedule({ ...place("a"), name, cron: "0 3 * * *", agent, input: { n: 1 } }),
    unschedule: (world) => world.client.unschedule({ ...place("a"), name }),
    resolveUnknown: (world) =>
      world.client.resolveUnknown({
        ...address("a"),
        submissionId,
        recordId,
        resolution: { _tag: "CompletedWithResult", result: { paid: true } },
      }),
  }

describe.each(Object.entries(commands))("%s at the owner", (operation, send) => {
  it("reaches its thread as it was said, with who called, covered by an alarm", async () => {
    const world = makeOwnerWorld()
    let covered: unknown
    world.setFailpoints({
      reach: (point) =>
        Effect.sync(() => {
          if (point !== "body:before") return
          covered = [world.lane("a")?.["enrolled"], world.storage.alarmAt()]
        }),
    })
    await go(send(world))
    expect(covered).toEqual([expect.any(String), expect.any(Number)])
    const [command] = world.thread("a").commands
    expect(command).toMatchObject({
      name: operation === "callback" ? "signal" : operation,
      payload: { ...told[operation], principal: "tester", now: expect.any(Number) },
    })
    await world.quiet()
    const lane = world.lane("a")
    // Where nothing was paused a resume leaves nothing.
    if (operation === "resume") expect(lane).toBeUndefined()
    else expect(lane).toMatchObject({ enrolled: null, work: null })
  })

  it("that a newer fence refuses is sent once more under a newer generation", async () => {
    const world = makeOwnerWorld()
    world.thread("a").fence = farFence
    await go(send(world))
    const generations = world.thread("a").commands.map(({ payload }) => payload.generation)
    expect(generations.map((generation) => generation > farFence)).toEqual([false, true])
  })

  const isWork = operation === "schedule"
  it(`${isWork ? "is refused by" : "passes"} an owner whose database is full`, async () => {
    const world = makeOwnerWorld({ limits: { databaseBytes: 0 } })
    const answer = await go(Effect.result(send(world)))
    expect(JSON.stringify(answer).includes("StorageFull")).toBe(isWork)
    expect(world.thread("a").commands).toHaveLength(isWork ? 0 : 1)
  })

  it("is a principal's alone", async () => {
    const world = makeOwnerWorld()
    const client = world.connect(
      callerHeaders({ _tag: "Thread", ownerId, threadId: ThreadId.make("a") }),
    )
    const error = await go(Effect.flip(send({ client })))
    expect(error).toMatchObject({ _tag: "OperationDenied" })
    expect(world.lane("a")).toBeUndefined()
  })
})

describe("a resolution that could not be recorded", () => {
  it.each([
    ["too large", "x".repeat(2_000), "above 1024 bytes", "resolution.result"],
    ["not storable text", { note: "a\0b" }, "the text contains NUL", "resolution.result.note"],
  ])("is refused and nothing is written: %s", async (_, result, reason, path) => {
    const world = makeOwnerWorld({ limits: { recordBytes: 1_024 } })
    const error = await go(
      Effect.flip(
        world.client.resolveUnknown({
          ...address("a"),
          submissionId,
          recordId,
          resolution: { _tag: "CompletedWithResult", result },
        }),
      ),
    )
    expect(error).toMatchObject({ _tag: "InvalidInput", reason, path })
    expect(world.lane("a")).toBeUndefined()
  })
})

describe("a signal that could not be recorded", () => {
  const signal = async (payload: Schema.Json) => {
    const world = makeOwnerWorld({ limits: { recordBytes: 1_024 } })
    const call = { ...place("a"), submissionId, name, payload }
    const errors = [
      await go(Effect.flip(world.client.signal(call))),
      await go(Effect.flip(world.client.callback(call))),
    ]
    expect(world.lane("a")).toBeUndefined()
    expect(world.thread("a").commands).toEqual([])
    return errors
  }

  it("is refused for its size, and nothing is written", async () => {
    const error = { _tag: "AdmissionLimitExceeded", limit: "recordBytes", maximum: 1_024 }
    expect(await signal("x".repeat(2_000))).toMatchObject([error, error])
  })

  it("is refused for its place, and nothing is written", async () => {
    const error = {
      _tag: "InvalidInput",
      path: "payload.note[1]",
      reason: "the text contains NUL",
    }
    expect(await signal({ note: ["a", "a\0b"] })).toMatchObject([error, error])
  })
})

describe("a schedule that could not be accepted", () => {
  it("is refused like a submit, and nothing is written", async () => {
    const world = makeOwnerWorld({ limits: { inputBytes: 100 } })
    const schedule = (input: Schema.Json) =>
      go(
        Effect.flip(
          world.client.schedule({ ...place("a"), name, cron: "* * * * *", agent, input }),
        ),
      )
    expect(await schedule("x".repeat(200))).toMatchObject({
      _tag: "AdmissionLimitExceeded",
      limit: "inputBytes",
    })
    expect(await schedule("a\0b")).toMatchObject({ _tag: "InvalidInput" })
    expect(world.lane("a")).toBeUndefined()
  })
})

describe("a retry at the owner", () => {
  const marksOf = (world: World) =>
    JSON.parse(String(world.lane("a")?.["marks"] ?? "{}")) as Record<string, unknown>
  const retry = (world: World) => world.client.retry({ ...address("a"), submissionId })
  const faultOf = async (world: World) =>
    Option.getOrUndefined(await go(world.client.recoveryStatus(address("a"))))

  it("has a faulted thread recovered at once, and its fault stays until that succeeds", async () => {
    const world = makeOwnerWorld({ limits: { faultRetryMillis: 60_000 } })
    const thread = world.thread("a")
    thread.lost = true
    thread.recovery = "fail"
    await go(world.submit("a"))
    await world.alarmsUntil("it is faulted", () => "faultRetryAt" in marksOf(world))
    const first = await faultOf(world)
    expect(thread.recoveries).toBe(1)
    await go(retry(world))
    const between = await faultOf(world)
    expect(between).toEqual({ ...first, retryAt: between?.retryAt })
    expect(between?.retryAt).toBeLessThan(first?.retryAt ?? 0)
    await world.alarmsUntil("it was tried again", () => thread.recoveries === 2)
    await world.until("the pass ended", () => !world.isDelivering())
    expect(await faultOf(world)).toMatchObject({ attempts: 2, firstFailedAt: first?.firstFailedAt })
    thread.recovery = "repair"
    await go(retry(world))
    await world.quiet()
    expect(await faultOf(world)).toBeUndefined()
    expect(thread.settled).toEqual([1])
  })

  it("ends the backoff and the stall of the lane", async () => {
    const world = makeOwnerWorld({
      limits: { unchangedBeforeStall: 1, stallMillis: 60_000 },
    })
    const thread = world.thread("a")
    thread.turn = "unchanged"
    await go(world.submit("a"))
    await world.alarmsUntil("it stalls", () => "stalledUntilAt" in marksOf(world))
    thread.turn = "settle"
    await go(retry(world))
    expect(marksOf(world)).not.toHaveProperty("stalledUntilAt")
    await world.quiet()
    expect(thread.settled).toEqual([1])
  })

  it("has a missing agent looked for at once, and keeps the count of looks", async () => {
    const world = makeOwnerWorld({ limits: { bindingWaitMillis: 60_000 } })
    const thread = world.thread("a")
    thread.turn = "binding"
    await go(world.submit("a"))
    await world.alarmsUntil("it waits", () => "binding" in marksOf(world))
    await go(retry(world))
    await world.alarmsUntil("it was looked for again", () => thread.turns === 2)
    await world.until("the pass ended", () => !world.isDelivering())
    expect(marksOf(world)).toMatchObject({ binding: { attempts: 2 } })
  })

  it("of a thread that cannot be reached says so, and the waits stay ended", async () => {
    let lose = false
    const world = makeOwnerWorld({
      limits: { bindingWaitMillis: 60_000 },
      hooks: {
        request: (message) =>
          lose && message._tag === "Request" && message.tag === "retry" ? "drop" : "deliver",
      },
    })
    const thread = world.thread("a")
    thread.turn = "binding"
    await go(world.submit("a"))
    await world.alarmsUntil("it waits", () => "binding" in marksOf(world))
    lose = true
    expect(await go(Effect.flip(retry(world)))).toMatchObject({ _tag: "Unavailable" })
    thread.turn = "settle"
    await world.quiet()
    expect(thread.settled).toEqual([1])
  })
})

describe("a paused thread at its owner", () => {
  const pause = (world: World) => world.client.pauseThread(address("a"))
  const resume = (world: World) => world.client.resumeThread(address("a"))

  it("holds no alarm whatever it is given, and runs in order once it is resumed", async () => {
    const world = makeOwnerWorld()
    const thread = world.thread("a")
    await go(pause(world))
    for (const key of ["one", "two"]) await go(world.submit("a", key))
    await world.quiet()
    expect(thread.turns).toBe(0)
    expect(await go(world.client.laneStatus(address("a")))).toMatchObject({
      paused: true,
      nonterminal: 2,
    })
    await go(resume(world))
    await world.quiet()
    expect(thread.settled).toEqual([1, 2])
    expect(await go(world.client.laneStatus(address("a")))).toMatchObject({ paused: false })
  })
})
