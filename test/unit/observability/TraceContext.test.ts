import { Context, Effect, Tracer } from "effect"
import { describe, expect, it } from "vitest"
import { spanned, spannedUnder, spans } from "../../../contracts/observability/Spans.ts"
import {
  readTraceparent,
  traceOf,
  traceparentIn,
  traceparentOf,
} from "../../../contracts/observability/TraceContext.ts"

const [traceId, spanId] = ["0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"]
const text = `00-${traceId}-${spanId}-01`

describe("the trace of a call", () => {
  it("is taken where it is whole, and comes back from its text", () => {
    for (const sampled of [true, false]) {
      const trace = traceOf({ traceId, spanId, sampled })
      expect(trace).toEqual({ traceId, spanId, sampled })
      expect(readTraceparent(trace && traceparentOf(trace))).toEqual(trace)
    }
    expect(traceOf({ traceId, spanId })?.sampled).toBe(true)
    expect(traceparentOf({ traceId, spanId, sampled: true })).toBe(text)
  })

  it("is none where it is anything else", () => {
    const hostile: ReadonlyArray<readonly [unknown, unknown]> = [
      [traceId.toUpperCase(), spanId],
      ["0".repeat(32), spanId],
      [traceId, "0".repeat(16)],
      [`${traceId}0`, spanId],
      ["x".repeat(2_000_000), spanId],
      [traceId, undefined],
      [7, spanId],
      [`${traceId.slice(1)}\n`, spanId],
      ["noop", "noop"],
    ]
    for (const [trace, span] of hostile)
      expect(traceOf({ traceId: trace, spanId: span })).toBeUndefined()
    for (const damaged of [null, "", "00", 7, `01${text.slice(2)}`, `${text}0`, text.slice(0, -1)])
      expect(readTraceparent(damaged)).toBeUndefined()
  })

  it("is the one that an effect runs in", () => {
    const parent = Tracer.externalSpan({ traceId, spanId })
    expect(traceparentIn(Context.make(Tracer.ParentSpan, parent))).toBe(text)
    expect(traceparentIn(Context.empty())).toBeUndefined()
  })
})

describe("work where nobody collects spans", () => {
  const current = Effect.withFiber<string | undefined>(({ context }) =>
    Effect.succeed(traceparentIn(context)),
  )

  it("is no span, and is not asked about one", async () => {
    const asked = () => {
      throw new Error("asked")
    }
    expect(await Effect.runPromise(spanned(asked, current))).toBeUndefined()
  })

  it("continues a trace that was stored all the same", async () => {
    const trace = { traceId, spanId, sampled: true }
    const span = () => ({ name: spans.attempt })
    expect(await Effect.runPromise(spannedUnder(trace, span, current))).toBe(text)
    expect(await Effect.runPromise(spannedUnder(undefined, span, current))).toBeUndefined()
  })
})
