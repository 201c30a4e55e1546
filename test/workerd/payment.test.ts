/**
 * A provider that carries a payment out 20 s (scaled to 800 ms) after the request left, a crash in between, and a
 * reconciler that says "never started" until then: paid once. Nothing but the alarm drives the recovery.
 */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { carriedOut, requests } from "./loom-agents.ts"
import { type Loom, openLoom } from "./loom.ts"

const key = "once"
const idOf = (loom: Loom): string => `${loom.ownerId}/a charge`
const order = (hasty: boolean) => ({ key, agent: "pay-slowly", input: { hasty } })

const requested = (loom: Loom) =>
  loom.until("the request has reached the provider", () => requests.has(idOf(loom)))

const expectPaidOnce = Effect.fnUntraced(function* (loom: Loom) {
  expect(requests.get(idOf(loom))).toBe(1)
  expect(carriedOut.get(idOf(loom))).toBe(1)
  const kinds = (yield* loom.history()).map(({ kind }) => kind)
  expect(kinds.filter((kind) => kind === "ToolSettled")).toHaveLength(1)
  expect(kinds.filter((kind) => kind === "Settled")).toHaveLength(1)
})

describe("a payment that is carried out 20 s (scaled) after its request left", () => {
  it.live("is paid once when its object dies in between", () =>
    Effect.gen(function* () {
      const loom = yield* openLoom("quick")
      const receipt = yield* loom.accepted(order(false))
      yield* requested(loom)
      yield* loom.killThread()
      yield* loom.until("the owner waits for the call's end", async () => {
        const { rows } = await loom.rows()
        return rows["lanes"]?.[0]?.["work"] === "recover"
      })
      expect(yield* loom.settled(receipt)).toMatchObject({ outcome: "completed", output: "paid" })
      yield* loom.quiet
      yield* expectPaidOnce(loom)
    }),
  )

  for (const point of ["prepare:after", "settleTool:before", "settleTool:after"])
    it.live(`is paid once when its object dies at ${point}`, () =>
      Effect.gen(function* () {
        const loom = yield* openLoom("quick")
        const death = loom.plan("thread", point)
        const receipt = yield* loom.accepted(order(false))
        yield* loom.until("the object died", () => death.reached)
        expect(yield* loom.settled(receipt)).toMatchObject({ outcome: "completed", output: "paid" })
        yield* loom.quiet
        yield* expectPaidOnce(loom)
      }),
    )

  it.live("is paid once when the object that recovers it dies, too", () =>
    Effect.gen(function* () {
      const loom = yield* openLoom("quick")
      const receipt = yield* loom.accepted(order(false))
      yield* requested(loom)
      const death = loom.plan("thread", "recover:before")
      yield* loom.killThread()
      yield* loom.until("the object died again", () => death.reached)
      expect(yield* loom.settled(receipt)).toMatchObject({ outcome: "completed", output: "paid" })
      yield* loom.quiet
      yield* expectPaidOnce(loom)
    }),
  )

  it.live("would be paid twice were its tool to promise an end that is none", () =>
    Effect.gen(function* () {
      const loom = yield* openLoom("quick")
      yield* loom.accepted(order(true))
      yield* loom.until("it was asked for again", () => (requests.get(idOf(loom)) ?? 0) > 1)
    }),
  )
})
