import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { placeOrder } from "../../../examples/10-plain-caller.ts"
import { receipt, settlement, submissionId } from "../client/fakes.ts"
import { failed, fakeBinding, never, ok } from "./fakeBinding.ts"

const read = (path: string): string =>
  readFileSync(join(import.meta.dirname, "../../..", path), "utf8")

describe("the guide to calls without Effect", () => {
  it("shows the caller that the example is", () => {
    const code = read("examples/10-plain-caller.ts")
      .replace(/^\/\*\*[\s\S]*?\*\/\n/, "")
      .replaceAll('"../client/sdk/index.ts"', '"heddle/sdk"')
    expect(read("docs/call-without-effect.md")).toContain(code.trim())
  })

  const { signal } = new AbortController()

  it("shows a caller that follows its order to the end", async () => {
    const settled = {
      sequence: 2,
      submissionId,
      kind: "Settled",
      epoch: 1,
      recordedAt: 1,
      payload: {},
    }
    const fake = fakeBinding(
      () => ok(receipt),
      async (request, push) => {
        await push({ _tag: "Opened", tailSequence: 2 }, { _tag: "Record", record: settled })
        return never(request, push)
      },
      () => ok({ _tag: "Settled", settlement }),
    )
    expect(await placeOrder(fake, "7", signal)).toEqual({ ordered: { refunded: true } })
    expect(fake.requests.map(({ tag }) => tag)).toEqual(["submit", "observe", "awaitSettlement"])
  })

  it("shows a caller that knows why it was refused", async () => {
    const conflict = { _tag: "IdempotencyConflict", idempotencyKey: "order-7", submissionId }
    expect(
      await placeOrder(
        fakeBinding(() => failed(conflict)),
        "7",
        signal,
      ),
    ).toEqual({
      refused: `order 7 was another one: ${submissionId}`,
    })
    const missing = { _tag: "AgentNotRegistered", agent: "place-order" }
    expect(
      await placeOrder(
        fakeBinding(() => failed(missing)),
        "7",
        signal,
      ),
    ).toEqual({
      refused: expect.stringMatching(/place-order.* Check the name/),
    })
  })
})
