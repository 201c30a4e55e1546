import { Effect, Fiber, Schema, Stream } from "effect"
import { describe, expect, it } from "vitest"
import type { ObserveFrame } from "../../../contracts/JournalRecord.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, drain, go, makeWorld, until, type World, type WorldOptions } from "./harness.ts"

const io = { input: Schema.String, output: Schema.String }

const Echo = Agent.make("echo", io).handler((input, run) =>
  Effect.as(run.progress("seen", { input }), input),
)

/** A reader that keeps what it was given. */
const watch = (world: World, after?: number) => {
  const frames: Array<ObserveFrame> = []
  const fiber = Effect.runFork(
    Stream.runForEach(
      world.asReader.observe({ ...world.address, ...(after === undefined ? {} : { after }) }),
      (frame) => Effect.sync(() => frames.push(frame)),
    ),
  )
  return {
    frames,
    sequences: () =>
      frames.flatMap((frame) => (frame._tag === "Record" ? [frame.record.sequence] : [])),
    stop: () => go(Fiber.interrupt(fiber)),
    ended: () => go(Fiber.join(fiber)),
  }
}

const upTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1)

const wakeful = (agents: WorldOptions["agents"], limits: WorldOptions["limits"] = {}) =>
  makeWorld({ ...(agents === undefined ? {} : { agents }), limits })

describe("observing a thread", () => {
  it("opens first, then gives every record once and in order, past and to come", async () => {
    const world = wakeful([Echo])
    await accepted(world.admit("echo", "a"))
    await drain(world)
    const reader = watch(world)
    await until("the past", reader.sequences, ({ length }) => length === 3)
    for (const input of ["b", "c"]) await accepted(world.admit("echo", input))
    await drain(world)
    await until("what came", reader.sequences, ({ length }) => length === 9)
    expect(reader.frames[0]).toEqual({ _tag: "Opened", tailSequence: 3 })
    expect(reader.sequences()).toEqual(upTo(9))
    await reader.stop()
  })

  it("misses nothing that commits between the registration and the first read", async () => {
    const world = wakeful([Echo])
    const readers = [watch(world), watch(world, 0)]
    for (let index = 0; index < 20; index++) {
      await accepted(world.admit("echo", `${index}`))
      readers.push(watch(world))
      await go(world.process())
    }
    await drain(world)
    for (const reader of readers) {
      await until("all records", reader.sequences, ({ length }) => length >= 60)
      expect(reader.sequences()).toEqual(upTo(60))
      await reader.stop()
    }
  })

  it("sees each record once over a lost object, when it comes back with its last sequence", async () => {
    const world = wakeful([Echo])
    await accepted(world.admit("echo", "a"))
    await drain(world)
    const first = watch(world)
    await until("the first records", first.sequences, ({ length }) => length === 3)
    world.crash()
    await accepted(world.admit("echo", "b"))
    await drain(world)
    const second = watch(world, first.sequences().at(-1) ?? 0)
    await until("the rest", second.sequences, ({ length }) => length === 3)
    expect([...first.sequences(), ...second.sequences()]).toEqual(upTo(6))
    await first.stop()
    await second.stop()
  })

  it("works on an untouched thread, which it does not touch", async () => {
    const world = wakeful([Echo])
    const reader = watch(world)
    await until(
      "the opening",
      () => reader.frames,
      ({ length }) => length === 1,
    )
    expect(world.storage.dump()).toBe("[]")
    await accepted(world.admit("echo", "a"))
    await drain(world)
    await until("the records", reader.sequences, ({ length }) => length === 3)
    await reader.stop()
  })

  it("carries three records of 250 KiB whole and in order", async () => {
    const Big = Agent.make("big", io).handler((_input, run) =>
      Effect.as(
        Effect.forEach(["1", "2", "3"], (name) =>
          run.step(name, Schema.String, Effect.succeed(name.repeat(250 * 1024))),
        ),
        "done",
      ),
    )
    const world = wakeful([Big])
    await accepted(world.admit("big", ""))
    await drain(world)
    const reader = watch(world)
    await until("the records", reader.sequences, ({ length }) => length === 5)
    const results = reader.frames.flatMap((frame) =>
      frame._tag === "Record" && frame.record.kind === "StepCompleted"
        ? [(frame.record.payload as { result: string }).result]
        : [],
    )
    expect(results).toEqual(["1", "2", "3"].map((name) => name.repeat(250 * 1024)))
    await reader.stop()
  })

  it("ends with a cursor after the idle time", async () => {
    const world = wakeful([Echo], { waitMillis: 10 })
    await accepted(world.admit("echo", "a"))
    await drain(world)
    const reader = watch(world, 1)
    await reader.ended()
    expect(reader.sequences()).toEqual([2, 3])
    expect(reader.frames.at(-1)).toEqual({ _tag: "Cursor", after: 3 })
    expect(world.thread().observers()).toBe(0)
  })

  it("counts its readers back to none when they go", async () => {
    const world = wakeful([Echo])
    const readers = [watch(world), watch(world)]
    await until(
      "two readers",
      () => world.thread().observers(),
      (count) => count === 2,
    )
    for (const reader of readers) await reader.stop()
    await until(
      "no reader",
      () => world.thread().observers(),
      (count) => count === 0,
    )
  })
})

describe("emitted chunks", () => {
  const Tokens = (count: number) =>
    Agent.make("tokens", io).handler((_input, run) =>
      Effect.gen(function* () {
        yield* run.progress("started", null)
        for (let index = 0; index < count; index++) yield* run.emit({ token: index })
        yield* run.progress("ended", null)
        return "done"
      }),
    )

  it("reach present observers in their place between records, numbered within their attempt", async () => {
    const world = wakeful([Tokens(3)])
    const reader = watch(world)
    await until(
      "the opening",
      () => reader.frames,
      ({ length }) => length === 1,
    )
    const { submissionId } = await accepted(world.admit("tokens", ""))
    await drain(world)
    await until("the records", reader.sequences, ({ length }) => length === 4)
    const told = reader.frames.map((frame) =>
      frame._tag === "Emitted"
        ? `chunk ${frame.index}`
        : frame._tag === "Record"
          ? frame.record.sequence
          : frame._tag,
    )
    expect(told).toEqual(["Opened", 1, 2, "chunk 0", "chunk 1", "chunk 2", 3, 4])
    expect(reader.frames.find(({ _tag }) => _tag === "Emitted")).toMatchObject({
      submissionId,
      chunk: { token: 0 },
    })
    await reader.stop()
  })

  it("write nothing, and are not seen by those who come later", async () => {
    const world = wakeful([Tokens(3)])
    await accepted(world.admit("tokens", ""))
    await drain(world)
    const reader = watch(world)
    await until("the records", reader.sequences, ({ length }) => length === 4)
    expect(reader.frames.some(({ _tag }) => _tag === "Emitted")).toBe(false)
    expect(world.storage.dump()).not.toContain('token\\":')
    await reader.stop()
  })

  it("are dropped for a slow observer, which is told how many; records are not", async () => {
    const world = wakeful([Tokens(50)], { observerBuffer: 10 })
    const reader = watch(world)
    await until(
      "the opening",
      () => reader.frames,
      ({ length }) => length === 1,
    )
    await accepted(world.admit("tokens", ""))
    await drain(world)
    await until("the records", reader.sequences, ({ length }) => length === 4)
    const chunks = reader.frames.filter(({ _tag }) => _tag === "Emitted").length
    const dropped = reader.frames.flatMap((frame) => (frame._tag === "Gap" ? [frame.dropped] : []))
    expect(reader.sequences()).toEqual(upTo(4))
    expect(dropped.length).toBeGreaterThan(0)
    expect(chunks + dropped.reduce((sum, count) => sum + count, 0)).toBe(50)
    await reader.stop()
  })
})

describe("awaiting a settlement", () => {
  const waitFor = (world: World, submissionId: string, timeoutMillis?: number) =>
    go(
      world.asReader.awaitSettlement({
        ...world.address,
        submissionId: submissionId as never,
        ...(timeoutMillis === undefined ? {} : { timeoutMillis }),
      }),
    )

  it("answers at once for what has settled, and at the settlement for what has not", async () => {
    const world = wakeful([Echo])
    const { submissionId } = await accepted(world.admit("echo", "a"))
    const early = waitFor(world, submissionId)
    await drain(world)
    const settled = { _tag: "Settled", settlement: { outcome: "completed", output: "a" } }
    expect(await early).toMatchObject(settled)
    expect(await waitFor(world, submissionId)).toMatchObject(settled)
  })

  it("misses no wake, whenever it comes", async () => {
    const world = wakeful([Echo])
    const waits: Array<Promise<unknown>> = []
    for (let index = 0; index < 20; index++) {
      const { submissionId } = await accepted(world.admit("echo", `${index}`))
      waits.push(waitFor(world, submissionId))
      const turn = go(world.process())
      waits.push(waitFor(world, submissionId))
      await turn
    }
    for (const reply of await Promise.all(waits)) expect(reply).toMatchObject({ _tag: "Settled" })
  })

  it("answers Pending after its time, at most the limit, and leaves nothing behind", async () => {
    const world = wakeful([Echo], { waitMillis: 10 })
    const { submissionId } = await accepted(world.admit("echo", "a"))
    expect(await waitFor(world, submissionId, 1)).toEqual({ _tag: "Pending" })
    expect(await waitFor(world, submissionId, 60_000)).toEqual({ _tag: "Pending" })
    expect(await waitFor(world, submissionId, 0)).toEqual({ _tag: "Pending" })
  })
})
