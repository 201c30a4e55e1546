/** Who watches an owner sees lanes and faults change, and costs nothing once gone. */
import { Effect, Fiber, Stream } from "effect"
import { describe, expect, it } from "vitest"
import type { WatchFrame } from "../../../contracts/Maintenance.ts"
import { makeWatcher } from "../../../owner-object/Watcher.ts"
import type { ThreadId } from "../../../contracts/Identifiers.ts"
import { makeOwnerWorld, ownerId } from "./OwnerWorld.ts"

const run = Effect.runPromise
type World = ReturnType<typeof makeOwnerWorld>

/** Collects what a watcher is told. */
const watching = async (world: World) => {
  const frames: Array<WatchFrame> = []
  const fiber = Effect.runFork(
    Stream.runForEach(world.client.watch({ ownerId }), (frame) =>
      Effect.sync(() => void frames.push(frame)),
    ),
  )
  await world.until("the stream is open", () => frames.length > 0)
  const lanes = (name: string) =>
    frames.flatMap((frame) =>
      frame._tag === "Lane" && frame.lane.threadId === name ? [frame.lane] : [],
    )
  return { frames, lanes, fiber }
}

describe("a watcher", () => {
  it("sees a lane from its first mutation to its rest", async () => {
    const world = makeOwnerWorld()
    const { frames, lanes } = await watching(world)
    expect(frames[0]).toEqual({ _tag: "Opened", faultedLanes: 0 })
    await run(world.submit("a"))
    await world.quiet()
    await world.until(
      "its rest is told",
      () => lanes("a").at(-1) !== undefined && lanes("a").at(-1)?.work === undefined,
    )
    expect(lanes("a").at(-1)).toMatchObject({ nonterminal: 0, mustVisit: false, running: false })
    expect(lanes("a")[0]).toMatchObject({ known: true, enrolled: expect.any(String) })
  })

  it("sees a lane condemned, and gone once its thread is forgotten", async () => {
    const world = makeOwnerWorld()
    const { lanes } = await watching(world)
    const said = { author: "ann", reason: "asked to", abort: true }
    void run(world.client.forgetThread({ ownerId, threadId: "a" as ThreadId, ...said }))
    await world.until("it is told", () => lanes("a").length > 0)
    expect(lanes("a")[0]).toMatchObject({ known: true, work: "forget", condemned: said })
    await world.quiet()
    await world.until("its end is told", () => lanes("a").at(-1)?.known === false)
    expect(lanes("a").at(-1)).not.toHaveProperty("condemned")
  })

  it("sees a fault appear and clear, and those that were there before", async () => {
    const world = makeOwnerWorld({ limits: { faultRetryMillis: 5, faultRetryMaxMillis: 5 } })
    const broken = world.thread("broken")
    broken.lost = true
    broken.recovery = "fail"
    const early = await watching(world)
    await run(world.submit("broken"))
    await world.alarmsUntil("the fault is told", () =>
      early.lanes("broken").some(({ fault }) => fault !== undefined),
    )
    const late = await watching(world)
    expect(late.frames[0]).toEqual({ _tag: "Opened", faultedLanes: 1 })
    await world.until("it is told at once", () => late.lanes("broken").length > 0)
    expect(late.lanes("broken")[0]?.fault).toMatchObject({ failure: { operation: "recover" } })
    broken.recovery = "repair"
    await world.quiet()
    for (const { lanes } of [early, late]) {
      await world.until("its end is told", () => lanes("broken").at(-1)?.nonterminal === 0)
      expect(lanes("broken").at(-1)?.fault).toBeUndefined()
    }
  })

  it("writes nothing", async () => {
    const world = makeOwnerWorld()
    const before = world.storage.dump()
    await watching(world)
    expect(world.storage.dump()).toBe(before)
    expect(world.storage.alarmAt()).toBeNull()
  })

  it("is ended after a while without a change", async () => {
    const world = makeOwnerWorld({ limits: { waitMillis: 20 } })
    const { frames, fiber } = await watching(world)
    await run(Fiber.await(fiber))
    expect(frames).toEqual([{ _tag: "Opened", faultedLanes: 0 }, { _tag: "Ended" }])
  })

  it("hears that its owner started again, as something to try again", async () => {
    let failing = false
    const world = makeOwnerWorld({
      storageFault: (use) => {
        if (failing && use === "commit") throw new Error("disk I/O error")
      },
    })
    const { fiber } = await watching(world)
    failing = true
    await run(Effect.exit(world.submit("a")))
    failing = false
    const error = await run(Effect.flip(Fiber.join(fiber)))
    expect(error).toMatchObject({ _tag: "Unavailable", retryable: true })
  })

  it("hears that a pass of its owner hung and the owner starts again", async () => {
    const world = makeOwnerWorld({ limits: { passCeilingMillis: 20, closeMillis: 1 } })
    const { fiber } = await watching(world)
    await run(world.submit("a"))
    await world.hangPass(40)
    void world.runtime().alarm()
    const error = await run(Effect.flip(Fiber.join(fiber)))
    expect(error).toMatchObject({ _tag: "Unavailable", retryable: true })
    await world.quiet()
  })

  it("that is too slow hears the newest state of each lane, and how many it missed", () => {
    const watcher = makeWatcher(2)
    const change = (...names: ReadonlyArray<string>) =>
      watcher.changed(new Set(names as ReadonlyArray<ThreadId>))
    change("a")
    change("a", "b")
    change("c", "b")
    expect(watcher.take()).toEqual({ threadIds: ["a", "b"], dropped: 1 })
    expect(watcher.take()).toEqual({ threadIds: [], dropped: 0 })
  })
})
