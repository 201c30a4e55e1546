/** What the guide to threads that talk shows, run. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { AgentId, OwnerId, ThreadId } from "../../../contracts/index.ts"
import {
  acceptMessages,
  Booking,
  BookingLive,
  Errand,
  ErrandLive,
  Haste,
  HasteLive,
  OfferLive,
  Purchase,
  PurchaseLive,
  Sale,
  SaleLive,
} from "../../../examples/authoring/talking.ts"
import { TestDeployment } from "../../../testing/index.ts"
import * as Agent from "../../../thread-actors/Agent.ts"

const day = 24 * 60 * 60 * 1_000

const shop = (accepts: typeof acceptMessages = acceptMessages) =>
  TestDeployment.make({
    agents: [SaleLive, BookingLive],
    ownerId: "berlin",
    acceptMessages: accepts,
  })

const sell = (heddle: ReturnType<typeof shop>, order: string, cents: number) =>
  heddle.submit({ agent: Sale, input: { order, cents }, threadId: "counter" })

const totalsIn = async (heddle: ReturnType<typeof shop>, threadId: string, ownerId: string) =>
  (await heddle.history({ threadId, ownerId }))
    .filter(({ kind }) => kind === "Settled")
    .map(({ payload }) => (payload as { output: { total: number } }).output.total)

describe("messages of the guide", () => {
  it("are taken once each and in order, here and by another owner that lets them in", async () => {
    const heddle = shop()
    heddle.crashAt("send:after")
    heddle.crashAt("deliver:after", { times: 2 })
    for (const cents of [100, 20, 3]) await sell(heddle, `${cents}`, cents)
    await heddle.advanceToRest()
    expect(heddle.crashes().length).toBe(3)
    expect(await totalsIn(heddle, "books", "berlin")).toEqual([100, 120, 123])
    expect(await totalsIn(heddle, "shop-berlin", "head-office")).toEqual([100, 120, 123])
  })

  it("are let in for the shop's own thread and the agent that books, and for nothing else", () => {
    const from = {
      ownerId: OwnerId.make("berlin"),
      threadId: ThreadId.make("counter"),
      submissionId: "01a2296d-d875-7000-acd4-19af00000001" as never,
    }
    const asked = {
      from,
      ownerId: OwnerId.make("head-office"),
      threadId: ThreadId.make("shop-berlin"),
      agent: AgentId.make("booking"),
    }
    expect(acceptMessages(asked)).toBe(true)
    expect(acceptMessages({ ...asked, threadId: ThreadId.make("shop-rome") })).toBe(false)
    expect(acceptMessages({ ...asked, ownerId: OwnerId.make("rome") })).toBe(false)
    expect(acceptMessages({ ...asked, agent: AgentId.make("sale") })).toBe(false)
  })

  it("hold up nothing when they are refused: parked, told by name, and carried again by a word", async () => {
    let isOpen = false
    const heddle = shop((request) => isOpen && acceptMessages(request) === true)
    const receipt = await sell(heddle, "7", 100)
    expect(await heddle.settled(receipt)).toMatchObject({
      outcome: "completed",
      output: "packed 7",
    })
    await heddle.advanceToRest()
    expect(await heddle.obligations()).toMatchObject([
      { threadId: "counter", blocker: "outbox", name: "report" },
    ])
    const [explained] = await heddle.explain(receipt)
    const told = { blocker: "outbox", name: "report", whoCanAct: "operator" }
    expect(explained?.waits).toMatchObject([told])
    const guide = readFileSync(
      join(import.meta.dirname, "../../../docs/talk-between-threads.md"),
      "utf8",
    )
    const shown = explained?.waits[0]?.message.replace(
      receipt.submissionId,
      "01a3185c-5000-7001-acee-b65e00000001",
    )
    expect(guide).toContain(`"message": "${shown}"`)
    isOpen = true
    expect(await heddle.retry(receipt)).toMatchObject({ state: "settled" })
    await heddle.advanceToRest()
    expect(await heddle.obligations()).toEqual([])
    expect(await totalsIn(heddle, "shop-berlin", "head-office")).toEqual([100])
  })

  it("that arrive after a run asked for them are runs of their own, told who sent them", async () => {
    const Asked = Agent.make("asked", { input: Schema.String, output: Schema.String })
    const AskedLive = Asked.handler((input, run) =>
      run.info.from === undefined
        ? run.send("ask", {
            threadId: ThreadId.make("other"),
            agent: Asked,
            input: `${input}?`,
          })
        : run.info.threadId === "other"
          ? run.send("answer", {
              threadId: run.info.from.threadId,
              agent: Asked,
              input: `${input}!`,
            })
          : Effect.succeed(input),
    )
    const heddle = TestDeployment.make({ agents: [AskedLive] })
    await heddle.submit({ agent: Asked, input: "who", threadId: "one" })
    await heddle.advanceToRest()
    const inputs = (await heddle.history("one"))
      .filter(({ kind }) => kind === "InputApplied")
      .map(({ payload }) => (payload as { input: string }).input)
    expect(inputs).toEqual(["who", "who?!"])
  })
})

const market = () =>
  TestDeployment.make({ agents: [OfferLive, PurchaseLive, HasteLive, ErrandLive] })

describe("children of the guide", () => {
  it("give their parent a typed result, and their failure is an outcome with a tag", async () => {
    const heddle = market()
    const few = { sku: "warp", quantity: 2 }
    const many = { sku: "warp", quantity: 200 }
    const bought = await heddle.submit({ agent: Purchase, input: few, threadId: "a" })
    const refused = await heddle.submit({ agent: Purchase, input: many, threadId: "b" })
    expect(await heddle.settled(bought)).toMatchObject({ output: "bought for 500" })
    expect(await heddle.settled(refused)).toMatchObject({ output: "no offer: SoldOut" })
  })

  it("that a deployment lacks are failures with the refusal's tag", async () => {
    const heddle = TestDeployment.make({ agents: [PurchaseLive] })
    const input = { sku: "warp", quantity: 2 }
    const receipt = await heddle.submit({ agent: Purchase, input, threadId: "a" })
    expect(await heddle.settled(receipt)).toMatchObject({ output: "no offer: AgentNotRegistered" })
  })

  it("that lose a race are told to end, and their parent settles after them", async () => {
    const heddle = market()
    const input = { sku: "warp", quantity: 2 }
    const receipt = await heddle.submit({ agent: Haste, input, threadId: "a" })
    const begun = heddle.now()
    const settlement = await heddle.settled(receipt)
    expect(settlement).toMatchObject({ outcome: "completed", output: "went elsewhere" })
    expect(heddle.now() - begun).toBeLessThan(day)
    const records = await heddle.history("a")
    expect(records.map(({ kind }) => kind).slice(-2)).toEqual(["ResultReached", "Settled"])
    const asked = records.filter(({ kind }) => kind === "ChildRequested")
    const [child = ""] = asked.map(({ payload }) => (payload as { threadId: string }).threadId)
    const ends = (await heddle.history(child)).filter(({ kind }) => kind === "Settled")
    expect(ends).toMatchObject([{ payload: { outcome: "aborted" } }])
  })

  it("that are detached go on by themselves, under a thread of their own", async () => {
    const heddle = market()
    const input = { sku: "warp", quantity: 2 }
    const receipt = await heddle.submit({ agent: Errand, input, threadId: "a" })
    const child = (await heddle.settled(receipt)).output as string
    expect(child).toMatch(/^child:[0-9a-f]{32}$/)
    await heddle.advanceToRest()
    expect((await heddle.history(child)).at(-1)).toMatchObject({
      kind: "Settled",
      payload: { outcome: "completed", output: { cents: 500 } },
    })
  })
})

it("an agent whose name alone is known is sent to as well", async () => {
  const Blind = Agent.make("blind", { input: Schema.Null, output: Schema.String })
  const BlindLive = Blind.handler((_, run) =>
    run.send("book", {
      threadId: ThreadId.make("books"),
      agent: { name: Booking.name },
      input: { order: "9", cents: 9 },
    }),
  )
  const heddle = TestDeployment.make({ agents: [BlindLive, BookingLive], ownerId: "berlin" })
  await heddle.submit({ agent: Blind, input: null, threadId: "a" })
  await heddle.advanceToRest()
  expect(await totalsIn(heddle, "books", "berlin")).toEqual([9])
})
