/** Tokens and decisions at the edge of a whole deployment: who has one may use it, once, and nobody else learns of it. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import type { Operation } from "../../../contracts/Authorization.ts"
import { callbackPath, type CallbackToken, makeCallbackToken } from "../../../contracts/Callback.ts"
import { OperationDenied } from "../../../contracts/Errors.ts"
import { AgentId, OwnerId, ThreadId } from "../../../contracts/Identifiers.ts"
import { makeRandom } from "../../../testing/Random.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { ownerId, submission, threadId } from "../client/fakes.ts"
import { origin } from "../client/httpWorld.ts"
import { type EdgeWorld, type EdgeWorldOptions, makeEdgeWorld } from "./EdgeWorld.ts"
import { garbled } from "./mutations.ts"

const everything = { principal: "ada", owners: ["*"] }
const place = { ownerId, threadId }

const call = async (world: EdgeWorld, tag: string, payload: object, props: object = everything) => {
  const message = { _tag: "Request", id: "1", tag, payload: { ...place, ...payload }, headers: [] }
  return world.overBinding(props, message)
}

const valueOf = async <A>(exit: ReturnType<typeof call>): Promise<A> => {
  const ended = await exit
  if (ended._tag === "Failure") throw new Error(JSON.stringify(ended))
  return ended.value as A
}

/** Posts to the path with nothing but a body. */
const post = async (world: EdgeWorld, path: string, body?: RequestInit["body"], type?: string) => {
  const headers: Record<string, string> = type === undefined ? {} : { "content-type": type }
  const init = { method: "POST", headers, ...(body === undefined ? {} : { body }) }
  const response = await world.fetch(new Request(`${origin}${path}`, init))
  return { status: response.status, text: (await response.text()).trim() }
}

const json = "application/json"

/** A deployment with a run that has given a token away, and waits for what it brings. */
const makeWaiting = async (options: EdgeWorldOptions = {}) => {
  const given: Array<CallbackToken> = []
  const waiter = Agent.make("waiter", { input: Schema.Json, output: Schema.Json }).handler(
    Effect.fnUntraced(function* (_input, run) {
      given.push(yield* run.callback("carrier"))
      return yield* run.waitFor("carrier", Schema.Json)
    }),
  )
  const asker = Agent.make("asker", { input: Schema.Json, output: Schema.Json }).handler(
    Effect.fnUntraced(function* (_input, run) {
      const { approved, author = "" } = yield* run.approval("refund", { summary: "Refund it?" })
      return { approved, author }
    }),
  )
  const world = makeEdgeWorld({
    ...options,
    agents: [waiter, asker],
    limits: { waitMillis: 5_000, mutationMillis: 2_000 },
  })
  const submitTo = async (agent: string, thread: string) => {
    const payload = { ...submission, agent: AgentId.make(agent), threadId: thread }
    const receipt = await valueOf<{ submissionId: string }>(call(world, "submit", payload))
    await world.rest()
    return receipt.submissionId
  }
  const submissionId = await submitTo("waiter", threadId)
  const [token] = given
  if (token === undefined) throw new Error("the run gave no token")
  return { world, token, submissionId, submitTo, path: callbackPath(token) }
}

const statusOf = (world: EdgeWorld, submissionId: string) =>
  valueOf<{ state: string; settlement?: { output?: unknown } }>(
    call(world, "status", { submissionId }),
  )

describe("a webhook", () => {
  it("gives a run its value with the token alone, once, however often it comes", async () => {
    const { path, submissionId, world } = await makeWaiting()
    expect(await statusOf(world, submissionId)).toMatchObject({ state: "suspended" })
    const first = await post(world, path, '{"paid":true}', json)
    expect(first).toEqual({ status: 200, text: '{"received":true,"duplicate":false}' })
    const again = await post(world, path, ' { "paid" : true } ', json)
    expect(again).toEqual({ status: 200, text: '{"received":true,"duplicate":true}' })
    expect((await post(world, path, '{"paid":false}', json)).status).toBe(409)
    await world.rest()
    expect(await statusOf(world, submissionId)).toMatchObject({
      state: "settled",
      settlement: { output: { paid: true } },
    })
    const { records } = await valueOf<{ records: ReadonlyArray<object> }>(
      call(world, "history", {}),
    )
    expect(records).toContainEqual(
      expect.objectContaining({
        kind: "SignalReceived",
        payload: { payload: { paid: true }, principal: "callback" },
      }),
    )
  })

  it("has no second value taken once its run has settled", async () => {
    const { path, world } = await makeWaiting()
    await post(world, path, "1", json)
    await world.rest()
    expect([404, 409, 410]).toContain((await post(world, path, "2", json)).status)
  })

  it("finds nobody waiting any more where the run was aborted", async () => {
    const { path, submissionId, world } = await makeWaiting()
    await valueOf(call(world, "abort", { submissionId, author: "ann", reason: "ordered twice" }))
    expect([404, 410]).toContain((await post(world, path, "1", json)).status)
  })
})

describe("a token that was made up", () => {
  it("is answered alike wherever it leads, and leaves no row anywhere", async () => {
    const { world } = await makeWaiting()
    await world.calm()
    const before = world.written()
    const answers = new Set<string>()
    for (const [owner, thread] of [
      [ownerId, threadId],
      [ownerId, "never-seen"],
      ["nobody", threadId],
    ] as const) {
      for (const digit of ["0", "f"]) {
        const token = makeCallbackToken({
          ownerId: OwnerId.make(owner),
          threadId: ThreadId.make(thread),
          secret: digit.repeat(32),
        })
        const { status, text } = await post(world, callbackPath(token), "1", json)
        answers.add(`${status} ${text}`)
        const made = { ownerId: owner, threadId: thread, token, payload: 1 }
        answers.add(`200 ${JSON.stringify(await call(world, "callback", made))}`)
      }
    }
    expect([...answers].toSorted()).toEqual([
      expect.stringContaining(
        '200 {"_tag":"Failure","cause":[{"_tag":"Fail","error":{"_tag":"OperationDenied"',
      ),
      expect.stringMatching(/^404 /),
    ])
    expect(world.written()).toBe(before)
    // An owner that nobody has is not even looked for.
    expect(world.reached()).not.toContain("nobody")
  })
})

describe("the policy", () => {
  it("is asked about a callback as one, by the thread and by the owner, and a denial looks like an unknown token", async () => {
    const asked: Array<Operation> = []
    let denies = false
    const authorizer = {
      authorize: (operation: Operation) => {
        asked.push(operation)
        return denies ? Effect.fail(new OperationDenied({ operation: "x" })) : Effect.void
      },
    }
    const { path, submissionId, token, world } = await makeWaiting({ authorizer })
    const unknown = callbackPath(makeCallbackToken({ ...place, secret: "0".repeat(32) }))
    const unknownAnswer = await post(world, unknown, "1", json)
    const question = { operation: "callback", principal: "callback", ...place }
    denies = true
    asked.length = 0
    await world.calm()
    const before = world.written()
    expect(await post(world, path, "1", json)).toEqual(unknownAnswer)
    expect(asked).toEqual([question])
    expect(world.written()).toBe(before)
    denies = false
    asked.length = 0
    expect((await post(world, path, "1", json)).status).toBe(200)
    expect(asked).toEqual([question, { ...question, submissionId }])
    // Who has grants besides is asked about in the same words: the token is the right to.
    asked.length = 0
    await valueOf(call(world, "callback", { token, payload: 1 }))
    expect(asked).toEqual([question, { ...question, submissionId }])
  })
})

describe("who may approve, and nothing else,", () => {
  const ben = {
    principal: "ben",
    owners: [ownerId],
    operations: ["resolveApproval", "obligations"],
  }

  it("finds what there is to approve, decides it, and may do nothing besides", async () => {
    const { submitTo, submissionId: waiting, world } = await makeWaiting()
    const submissionId = await submitTo("asker", "order-8")
    const { obligations } = await valueOf<{ obligations: ReadonlyArray<object> }>(
      call(world, "obligations", {}, ben),
    )
    expect(obligations).toContainEqual(
      expect.objectContaining({ submissionId, blocker: "approval", name: "refund" }),
    )
    const about = { threadId: "order-8", submissionId }
    const said = { ...about, author: "Ben", reason: "small", name: "refund" }
    for (const [tag, payload] of [
      ["signal", { submissionId: waiting, name: "carrier", payload: 1 }],
      ["status", about],
      ["abort", { ...about, author: "Ben", reason: "small" }],
      ["schedule", { name: "n", cron: "* * * * *", agent: "asker", input: 1 }],
    ] as const) {
      expect(await call(world, tag, payload, ben)).toMatchObject({
        cause: [{ error: { _tag: "OperationDenied", operation: tag } }],
      })
    }
    await valueOf(call(world, "resolveApproval", { ...said, approved: true }, ben))
    await world.rest()
    expect(await valueOf(call(world, "status", about))).toMatchObject({
      settlement: { output: { approved: true, author: "Ben" } },
    })
    const denial = await call(world, "resolveApproval", { ...said, approved: false }, ben)
    expect(denial).toMatchObject({ cause: [{ error: { _tag: "ResolutionConflict" } }] })
  })
})

describe("five hundred mutations of callbacks", () => {
  it("have an answer of ours, and only the token itself writes", async () => {
    const { path, world } = await makeWaiting()
    const random = makeRandom(611)
    const bodies = ['{"paid":[true,null]}', "a=b&c=%20d", "some text", ""]
    const types = [json, "application/x-www-form-urlencoded", "text/plain", "text/html", undefined]
    const statuses = new Map<number, number>()
    await world.calm()
    const faults: Array<string> = []
    for (let nth = 0; nth < 500 && faults.length < 3; nth++) {
      const own = random.chance(0.3)
      const mutant = own ? path : `/callback/${encodeURI(garbled(random, path.slice(10)))}`
      const before = world.written()
      const body = random.chance(0.3) ? random.pick(bodies) : garbled(random, random.pick(bodies))
      const answer = await post(world, mutant, new TextEncoder().encode(body), random.pick(types))
      const isAccepted = answer.status === 200 || answer.status === 409
      if (answer.status >= 500) faults.push(`${mutant} ${body}: ${answer.status} ${answer.text}`)
      // A path that reads as another one's text is the same token: only then is anything written.
      const isToken = decodeURIComponent(new URL(`${origin}${mutant}`).pathname) === path
      if (isAccepted && !isToken) faults.push(`${mutant} was taken`)
      if (!isAccepted && world.written() !== before) faults.push(`${mutant} ${body} has written`)
      if (isAccepted) await world.calm()
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
    }
    expect(faults).toEqual([])
    expect([...statuses.keys()].toSorted((a, b) => a - b)).toEqual([200, 400, 404, 409, 415])
  })
})
