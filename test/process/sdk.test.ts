/** The SDK from Node, over a socket, with a real workerd process. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { createHeddle, type Heddle } from "../../client/sdk/index.ts"
import { decide, passOn, toApprove } from "../../examples/12-answer.ts"
import { mintToken } from "../../scripts/mintToken.ts"
import { withTemporaryFolder } from "../../scripts/temporaryFolder.ts"
import { type RunningWorkerd, startWorkerd } from "../../scripts/workerd.ts"
import {
  followsOneThread,
  leavesBySignal,
  refusalOf,
  refusals,
  type SdkWorld,
  seesWhatIsWritten,
  submitsMany,
} from "../conformance/sdk.ts"
import { build, secret } from "./server.ts"

const mint = (owners: ReadonlyArray<string>) =>
  mintToken({ grants: { principal: "ada" as never, owners }, secret, expiresInSeconds: 600 })

/** A collector that keeps what it was sent, by path. */
const sent: Array<{ readonly path: string; readonly text: string }> = []
const collector = createServer((request, response) => {
  const parts: Array<Buffer> = []
  request.on("data", (part: Buffer) => parts.push(part))
  request.on("end", () => {
    sent.push({ path: request.url ?? "", text: Buffer.concat(parts).toString() })
    response.end("{}")
  })
})

let running: RunningWorkerd
let restart: () => Promise<void>
let finish: () => void
let finished: Promise<void>

beforeAll(async () => {
  const worker = await build()
  const started = Promise.withResolvers<void>()
  const done = Promise.withResolvers<void>()
  finish = done.resolve
  await new Promise<void>((resolve) => collector.listen(0, "127.0.0.1", resolve))
  const { port: collectorPort } = collector.address() as AddressInfo
  const vars = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collectorPort}` }
  finished = withTemporaryFolder("heddle-sdk-test-", async (persistDir) => {
    const start = (port: number) => startWorkerd({ build: worker, persistDir, port, secret, vars })
    running = await start(0)
    restart = async () => {
      const { port } = running
      await running.kill()
      running = await start(port)
    }
    started.resolve()
    await done.promise
    await running.kill()
  })
  finished.catch(started.reject)
  await started.promise
})

afterAll(async () => {
  finish()
  await finished
  collector.close()
})

let made = 0
const openWorld = async (): Promise<SdkWorld & { readonly heddle: Heddle }> => {
  made += 1
  const token = await mint(["shop-*"])
  return {
    heddle: createHeddle({ url: running.url, token: () => Promise.resolve(token) }),
    ownerId: `shop-${made}`,
    noop: "noop",
    slow: { agent: "tally", input: { workMillis: 600_000 } },
  }
}

describe("the SDK from Node, over HTTP", () => {
  it("gives a trace that goes on to the step, as a collector is told over a socket", async () => {
    const { heddle } = await openWorld()
    const traceId = "0af7651916cd43dd8448eb211c80319c"
    const receipt = await heddle.submit(
      {
        ownerId: "shop-traced",
        threadId: "a",
        agent: "tally",
        input: { workMillis: 1 },
        idempotencyKey: "one",
      },
      { traceparent: `00-${traceId}-b7ad6b7169203331-01` },
    )
    await heddle.awaitSettled(receipt)
    const names = () =>
      sent
        .flatMap(({ text }) => text.split('{"traceId":'))
        .filter((span) => span.startsWith(`"${traceId}"`))
        .map((span) => /"name":"([^"]+)"/.exec(span)?.[1])
    const wanted = ["heddle.edge.submit", "heddle.thread.admit", "heddle.attempt", "heddle.step"]
    await expect.poll(names, { timeout: 10_000 }).toEqual(expect.arrayContaining(wanted))
    expect(new Set(sent.map(({ path }) => path))).toEqual(new Set(["/v1/traces", "/v1/metrics"]))
  })

  it("submits, waits, reads and observes, and goes on after it broke off", async () => {
    await followsOneThread(await openWorld())
  })

  it("sees what is written while it observes", async () => {
    await seesWhatIsWritten(await openWorld())
  })

  it("submits many at once, each answered for itself", async () => {
    await submitsMany(await openWorld())
  })

  it("leaves a wait and a stream by a signal, and what it has begun goes on", async () => {
    await leavesBySignal(await openWorld())
  })

  it("gives each refusal as its class", async () => {
    for (const [tag, call] of Object.entries(refusals(await openWorld()))) {
      expect(await refusalOf(call())).toMatchObject({
        tag,
        name: tag === "NotAwaiting" ? expect.any(String) : tag,
      })
    }
  })

  it("is told when its token is not taken, and when there is no registry", async () => {
    const { url } = running
    const [ownerId, threadId] = ["shop-1", "order-7"]
    const stranger = createHeddle({ url, token: "none" })
    expect(await refusalOf(stranger.readState({ ownerId, threadId }))).toMatchObject({
      tag: "Unauthenticated",
    })
    expect(await refusalOf(stranger.observe({ ownerId, threadId }).next())).toMatchObject({
      tag: "Unauthenticated",
    })
    const operator = createHeddle({ url, token: () => mint(["*"]) })
    expect(await refusalOf(operator.listOwners({}))).toMatchObject({
      tag: "Unavailable",
      retryable: false,
    })
  })

  it("answers a run that waits: a decision, a signal, and a webhook without credentials", async () => {
    const { heddle, ownerId } = await openWorld()
    const place = { ownerId, threadId: "order-7" }
    const { submissionId } = await heddle.submit({ ...place, agent: "desk", input: null })
    let token = ""
    for await (const frame of heddle.observe(place)) {
      if (frame._tag !== "Record") continue
      const { kind, payload } = frame.record
      if (kind === "Progress") ({ token } = (payload as { data: { token: string } }).data)
      if (kind === "ApprovalRequested") break
    }
    const run = { ...place, submissionId }
    const options = { url: running.url, token: await mint(["shop-*"]) }
    const waiting = { ...run, name: "refund" }
    expect(await toApprove(options, ownerId)).toMatchObject([{ submissionId, name: "refund" }])
    expect(await decide(options, waiting, true)).toBe("decided")
    expect(await decide(options, waiting, true)).toBe("decided")
    expect(await decide(options, waiting, false)).toContain("decided already")
    const carrier = { ...run, name: "carrier" }
    expect(await passOn(options, carrier, { parcel: 7 })).toMatchObject({ duplicate: false })
    const hook = await fetch(`${running.url}/callback/${token}`, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: "status=paid",
    })
    expect([hook.status, await hook.json()]).toEqual([200, { received: true, duplicate: false }])
    expect(await heddle.awaitSettled(run)).toMatchObject({
      output: { approved: true, carrier: { parcel: 7 }, payment: { status: "paid" } },
    })
    expect(await passOn(options, carrier, { parcel: 7 })).toMatchObject({
      duplicate: true,
      state: "settled",
    })
    const nobody = await fetch(`${running.url}/callback/${token.slice(0, -1)}x`, { method: "POST" })
    expect(nobody.status).toBe(404)
  })

  it("waits and observes on while the whole process is killed and started again", async () => {
    const { heddle, ownerId } = await openWorld()
    const place = { ownerId, threadId: "order-7" }
    const receipt = await heddle.submit({ ...place, agent: "tally", input: { workMillis: 300 } })
    const settled = heddle.awaitSettled(receipt)
    const records: Array<{ readonly sequence: number; readonly kind: string }> = []
    let killed = false
    for await (const frame of heddle.observe(place)) {
      if (frame._tag !== "Record") continue
      records.push(frame.record)
      if (!killed) {
        killed = true
        await restart()
      }
      if (frame.record.kind === "Settled") break
    }
    expect(await settled).toMatchObject({ outcome: "completed", output: { count: 1 } })
    const { records: written } = await heddle.history(place)
    expect(records).toEqual(written)
    expect(records.map(({ sequence }) => sequence)).toEqual(records.map((_, index) => index + 1))
  })

  it("tells that nobody is there", async () => {
    const heddle = createHeddle({ url: "http://127.0.0.1:1", token: "none" })
    const refusal = await refusalOf(heddle.readState({ ownerId: "shop-1", threadId: "order-7" }))
    expect(refusal).toMatchObject({ tag: "Unavailable", overloaded: false })
  })
})
