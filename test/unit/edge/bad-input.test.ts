/**
 * What nobody should send, over both edges, to real objects: it has a typed answer, is not written, harms nobody else
 * and breaks nothing.
 */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { HeddleRpc } from "../../../contracts/HeddleRpc.ts"
import type { WireExit } from "../../../contracts/transport/index.ts"
import { rpcCodec } from "../../../contracts/transport/RpcCodec.ts"
import { mintToken } from "../../../scripts/mintToken.ts"
import { makeRandom, type Random } from "../../../testing/Random.ts"
import { grants, ownerId, submission, threadId } from "../client/fakes.ts"
import { line, nested, secret } from "../client/httpWorld.ts"
import { operations } from "../client/operations.ts"
import { type Answered, type EdgeWorld, makeEdgeWorld } from "./EdgeWorld.ts"
import { garbled, mutated } from "./mutations.ts"

const names = Object.keys(operations) as ReadonlyArray<keyof typeof operations>
const everything = { principal: "ada", owners: ["shop-*", "neighbour"] }
const token = await mintToken({ grants: grants(everything), secret, expiresInSeconds: 3_600 })
const sink = () => Promise.resolve()

const request = (tag: string, payload: unknown) => ({
  _tag: "Request",
  id: "1",
  tag,
  payload,
  headers: [],
})

const makeWorld = () =>
  makeEdgeWorld({
    limits: { waitMillis: 1, forgetWaitMillis: 1, mutationMillis: 2_000, rateLimitMillis: 50 },
  })

/** A valid message; every fifty of them are about a thread of their own, since some forget it. */
const valid = (random: Random, nth: number) => {
  const name = random.pick(names)
  const payload = JSON.stringify(operations[name].payload).replaceAll(
    `"${threadId}"`,
    `"order-${Math.floor(nth / 50)}"`,
  )
  return request(name, JSON.parse(payload))
}

const failureOf = (exit: WireExit): unknown => {
  if (exit._tag === "Success") return undefined
  const [reason] = exit.cause as ReadonlyArray<{ readonly error?: unknown }>
  return reason?.error
}

/** `Success`, or the tag of its failure. */
const tagOf = (exit: WireExit): string => {
  const tag = (failureOf(exit) as { readonly _tag?: unknown } | undefined)?._tag
  return typeof tag === "string" ? tag : exit._tag
}

/** Refusals of what does not fit the contract: before anything is done. */
const unread = new Set(["InvalidInput", "OperationDenied", "Unauthenticated"])

/** Whether an exit is one that the contract of the operation knows. */
const isDeclared = (tag: string, exit: WireExit): boolean => {
  const rpc = HeddleRpc.requests.get(tag)
  if (rpc === undefined) {
    return ["Unavailable", "InvalidInput"].includes(tagOf(exit))
  }
  const codec = rpcCodec(rpc)
  if (exit._tag === "Failure") return Result.isSuccess(codec.decodeError(failureOf(exit)))
  return codec.isStream || Result.isSuccess(codec.decodeValue(exit.value))
}

interface Sent {
  /** What it was, as a failing test tells it. */
  readonly what: () => string
  readonly exits: ReadonlyArray<readonly [tag: string, exit: WireExit]>
  /** Whether nothing of it was let through. */
  readonly isRefused: boolean
}

/** Checks one bad call: a declared answer, no defect, nothing written if it was refused. */
const check = (sent: Sent, before: number, after: number): string | undefined => {
  const wrong = sent.exits.find(
    ([tag, exit]) => !isDeclared(tag, exit) || tagOf(exit) === "InternalDefect",
  )
  if (wrong !== undefined) return `${sent.what()} was answered ${JSON.stringify(wrong)}`
  return sent.isRefused && after !== before ? `${sent.what()} has written` : undefined
}

/** A caller beside the bad ones, whose calls are its own. */
const neighbour = (world: EdgeWorld) => {
  let calls = 0
  const receipts: Array<Promise<WireExit>> = []
  return {
    submit: () => {
      calls += 1
      const payload = { ...submission, ownerId: "neighbour", idempotencyKey: `key-${calls}` }
      receipts.push(world.overBinding(everything, request("submit", payload)))
    },
    receipts: async () => (await Promise.all(receipts)).map(({ _tag }) => _tag),
    calls: () => calls,
  }
}

/** Sends many, and one neighbour's call beside every hundred of them; gives what went wrong. */
const sendAll = async (world: EdgeWorld, count: number, send: (nth: number) => Promise<Sent>) => {
  const beside = neighbour(world)
  const faults: Array<string> = []
  const seen = new Map<string, number>()
  let refused = 0
  for (let nth = 0; nth < count && faults.length < 3; nth++) {
    if (nth % 100 === 0) beside.submit()
    const before = world.written("neighbour", "registry")
    const sent = await send(nth)
    const fault = check(sent, before, world.written("neighbour", "registry"))
    if (fault !== undefined) faults.push(`${nth}: ${fault}`)
    if (sent.isRefused) refused += 1
    else await world.calm("neighbour", "registry")
    for (const [, exit] of sent.exits) {
      const tag = tagOf(exit)
      seen.set(tag, (seen.get(tag) ?? 0) + 1)
    }
  }
  expect(faults).toEqual([])
  expect(await beside.receipts()).toEqual(Array.from({ length: beside.calls() }, () => "Success"))
  return { refused, seen }
}

const short = (text: string) => (text.length > 2_000 ? `${text.slice(0, 2_000)}…` : text)
const shown = (value: unknown): string => {
  try {
    return short(JSON.stringify(value))
  } catch {
    return "what JSON cannot say"
  }
}

const overBinding = async (world: EdgeWorld, message: unknown): Promise<Sent> => {
  const exit = await world.overBinding(everything, message, sink)
  const { tag } = (message ?? {}) as { readonly tag?: unknown }
  return {
    what: () => shown(message),
    exits: [[typeof tag === "string" ? tag : "", exit]],
    isRefused: unread.has(tagOf(exit)),
  }
}

const statuses = new Set([400, 413, 415])

/** What a body came to; throws when the answer itself is not one of ours. */
const sentOver = (body: string, { said, status }: Answered): Sent => {
  if (status !== 200) {
    const [only] = said as ReadonlyArray<{ readonly _tag?: unknown }>
    if (!statuses.has(status) || said.length !== 1 || only?._tag !== "InvalidInput") {
      throw new Error(`${short(body)} was answered ${status} ${shown(said)}`)
    }
    return { what: () => short(body), exits: [], isRefused: true }
  }
  const tags = new Map<string, string>()
  for (const text of body.split("\n").filter((one) => one.trim() !== "")) {
    const { id, tag } = JSON.parse(text) as { readonly id?: unknown; readonly tag?: unknown }
    tags.set(String(id), typeof tag === "string" ? tag : "")
  }
  const exits = (said as ReadonlyArray<Record<string, unknown>>)
    .filter(({ _tag }) => _tag === "Exit")
    .map(({ exit, requestId }) => [tags.get(String(requestId)) ?? "", exit as WireExit] as const)
  if (exits.length === 0) throw new Error(`${short(body)} had no exit`)
  const isRefused = exits.every(([, exit]) => unread.has(tagOf(exit)))
  return { what: () => short(body), exits, isRefused }
}

const overHttps = async (world: EdgeWorld, body: string): Promise<Sent> =>
  sentOver(body, await world.overHttps(token, body))

const mutations = 10_000

describe("ten thousand mutations of valid messages", () => {
  it("over a service binding are answered, typed, and what does not fit writes nothing", async () => {
    const random = makeRandom(501)
    const world = makeWorld()
    const { refused, seen } = await sendAll(world, mutations, (nth) =>
      overBinding(world, mutated(random, valid(random, nth), true)),
    )
    // Otherwise it would be the mutations that are harmless.
    expect(refused).toBeGreaterThan(mutations / 2)
    expect(seen.get("Success")).toBeGreaterThan(mutations / 100)
  }, 240_000)

  it("over HTTPS are answered, typed, and what does not fit writes nothing", async () => {
    const random = makeRandom(502)
    const world = makeWorld()
    const { refused, seen } = await sendAll(world, mutations, (nth) => {
      const message = valid(random, nth)
      const body = random.chance(0.5)
        ? garbled(random, JSON.stringify(message))
        : asText(mutated(random, message, false), JSON.stringify(message))
      return overHttps(world, body)
    })
    expect(refused).toBeGreaterThan(mutations / 2)
    expect(seen.get("Success")).toBeGreaterThan(mutations / 100)
  }, 240_000)
})

/** As JSON; where the value is too deep to be written by recursion, the text of another one. */
const asText = (value: unknown, otherwise: string): string => {
  try {
    return JSON.stringify(value) ?? otherwise
  } catch {
    return otherwise.replace(/"(?:ownerId|after)":/, `"deep":${nested(10_000)},$&`)
  }
}

const commanded = { ownerId, threadId, author: "ann", reason: "audit" }
const big = "x".repeat(2_000_000)
const half = JSON.parse(String.raw`"\ud800"`) as string

/** A call that should be refused, by what is wrong with it. */
const bad: Readonly<Record<string, readonly [tag: string, payload: unknown]>> = {
  "a NUL in an input": ["submit", { ...submission, input: { deep: ["a\0"] } }],
  "a NUL in a key of an input": ["submit", { ...submission, input: { "a\0": 1 } }],
  "half a character in an input": ["submit", { ...submission, input: [half] }],
  "half a character in a key of an input": ["submit", { ...submission, input: { [half]: 1 } }],
  "a NUL in an idempotency key": ["submit", { ...submission, idempotencyKey: "a\0" }],
  "half a character in a title": ["submit", { ...submission, title: half }],
  "a NUL in a thread's id": ["submit", { ...submission, threadId: "a\0" }],
  "a slash in an owner's id": ["submit", { ...submission, ownerId: "shop-1/order-7" }],
  "half a character in a reason": ["pauseThread", { ...commanded, reason: half }],
  "a NUL in an author": ["pauseThread", { ...commanded, author: "\0" }],
  "an input of 10,000 levels": [
    "submit",
    { ...submission, input: JSON.parse(nested(10_000)) as unknown },
  ],
  "a payload of 10,000 levels": ["wake", JSON.parse(nested(10_000))],
  "two megabytes of input": ["submit", { ...submission, input: big }],
  "two megabytes of a title": ["submit", { ...submission, title: big }],
  "two megabytes of a thread's id": ["readState", { ownerId, threadId: big }],
  "two megabytes of a reason": ["pauseThread", { ...commanded, reason: big }],
  "two megabytes of a field that there is not": ["listThreads", { ownerId, after: big }],
  "texts for numbers": ["history", { ownerId, threadId, after: "1", limit: "10" }],
  "a list for a payload": ["history", [ownerId, threadId]],
  "an operation that there is not": ["sumbit", submission],
  "an operation of an object": ["admit", submission],
  "an operation of every object": ["constructor", submission],
  "an operation without a name": ["", submission],
}

/** The tags that a bad call may have; one is too large where its fields are right. */
const refusals = ["InvalidInput", "AdmissionLimitExceeded", "OperationDenied", "Unavailable"]

describe("a call with", () => {
  for (const [title, [tag, payload]] of Object.entries(bad)) {
    it(`${title} is refused over both edges, typed, and reaches no database`, async () => {
      const world = makeWorld()
      const exit = await world.overBinding(everything, request(tag, payload), sink)
      expect(refusals).toContain(tagOf(exit))
      expect(JSON.stringify(exit).length).toBeLessThan(600)
      const body = asText(request(tag, payload), line(tag, { ownerId, after: 1 }))
      const { exits } = await overHttps(world, body)
      expect(exits.map(([, one]) => tagOf(one))).toEqual([tagOf(exit)])
      expect(world.written()).toBe(0)
    })
  }
})

describe("a body over HTTPS", () => {
  const post = (world: EdgeWorld, body: RequestInit["body"], init: RequestInit = {}) =>
    world.fetch(
      new Request("https://heddle.test/rpc", {
        method: "POST",
        body: body ?? null,
        ...init,
        headers: {
          "content-type": "application/x-ndjson",
          authorization: `Bearer ${token}`,
          ...(init.headers as Record<string, string> | undefined),
        },
        duplex: "half",
      } as RequestInit),
    )

  it("that is cut off anywhere is refused whole, and writes nothing", async () => {
    const world = makeWorld()
    const whole = `${line("submit", submission, "1")}\n${line("submit", submission, "2")}`
    const firstEnds = whole.indexOf("\n")
    for (let end = 0; end < whole.length; end++) {
      // Behind a whole line nothing is missing.
      if (end === firstEnds || end === firstEnds + 1) continue
      const response = await post(world, whole.slice(0, end))
      expect([end, response.status]).toEqual([end, 400])
    }
    expect(world.written()).toBe(0)
  })

  it("whose connection breaks is refused, and writes nothing", async () => {
    const world = makeWorld()
    const bytes = new TextEncoder().encode(line("submit", submission))
    for (const sentBytes of [0, 1, 100, bytes.length]) {
      const body = new ReadableStream({
        start: (controller) => {
          if (sentBytes > 0) controller.enqueue(bytes.subarray(0, sentBytes))
        },
        pull: (controller) => controller.error(new Error("Network connection lost.")),
      })
      expect((await post(world, body)).status).toBe(400)
    }
    expect(world.written()).toBe(0)
  })

  it("of the wrong kind, size or method is refused, and writes nothing", async () => {
    const world = makeWorld()
    const text = line("submit", submission)
    const answers = [
      await post(world, text, { headers: { "content-type": "application/xml" } }),
      await post(world, text, { headers: { "content-type": "multipart/form-data; boundary=x" } }),
      await post(world, text, { headers: { "content-encoding": "br" } }),
      await post(world, text, { headers: { "x-long": "x".repeat(40_000) } }),
      await post(world, text + " ".repeat(4 * 1024 * 1024)),
      await post(world, text, { method: "PUT" }),
      await post(world, text, { method: "PATCH" }),
      await post(world, null, { method: "DELETE" }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([415, 415, 415, 431, 413, 405, 405, 405])
    for (const answer of answers) {
      expect(await answer.json()).toMatchObject({
        _tag: "InvalidInput",
        reason: expect.any(String),
      })
    }
    expect(world.written()).toBe(0)
  })
})
