import { Effect, Exit, Tracer } from "effect"
import { describe, expect, it } from "vitest"
import { jsonLog } from "../../../contracts/observability/JsonLog.ts"
import { consoleLines } from "../consoleLines.ts"

const lines = consoleLines()

const log = (effect: Effect.Effect<unknown>) =>
  Effect.runPromiseExit(Effect.provideContext(effect, jsonLog()))

const last = (): unknown => JSON.parse(lines.at(-1) ?? "null")

describe("a line of a deployment's log", () => {
  it("is JSON, of when, how grave, what and whose, with the trace that it came in", async () => {
    const [traceId, spanId] = ["a".repeat(32), "b".repeat(16)]
    const work = Effect.logWarning("the thread cannot be recovered").pipe(
      Effect.annotateLogs({ ownerId: "shop", threadId: "a" }),
      Effect.provideService(Tracer.ParentSpan, Tracer.externalSpan({ traceId, spanId })),
    )
    await log(work)
    expect(last()).toEqual({
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      level: "Warn",
      message: "the thread cannot be recovered",
      ownerId: "shop",
      threadId: "a",
      traceId,
      spanId,
    })
  })

  it("says when, how grave and what itself, whatever it is annotated with", async () => {
    const annotations = { level: "Debug", message: "another", time: "never", ownerId: "shop" }
    await log(Effect.annotateLogs(Effect.logError("it broke"), annotations))
    expect(last()).toMatchObject({ level: "Error", message: "it broke", ownerId: "shop" })
    expect(last()).not.toMatchObject({ time: "never" })
    expect(Object.keys(last() as object).slice(0, 3)).toEqual(["time", "level", "message"])
  })

  it("is one line and no failure, whatever an agent logs", async () => {
    const circular: Record<string, unknown> = { text: "two\nlines" }
    circular["self"] = circular
    const hostile = {
      toJSON: () => {
        throw new Error("no")
      },
    }
    for (const said of [circular, hostile, 7n, Symbol("s"), undefined, () => 1]) {
      lines.length = 0
      expect(Exit.isSuccess(await log(Effect.log("said", said)))).toBe(true)
      expect(lines).toHaveLength(1)
      expect(lines[0]).not.toContain("\n")
      expect(last()).toMatchObject({ level: "Info" })
    }
  })

  it("is not written below the level of the deployment", async () => {
    await log(Effect.logDebug("again"))
    expect(lines).toEqual([])
    await Effect.runPromise(Effect.provideContext(Effect.logDebug("again"), jsonLog("Debug")))
    expect(last()).toMatchObject({ level: "Debug", message: "again" })
  })
})
