/**
 * Every public operation, asked by everybody, over both edges, of real objects: who is not let in learns nothing of
 * what is there, and nothing is read or written for them.
 */
import { beforeAll, describe, expect, it } from "vitest"
import { Effect } from "effect"
import { callerHeaders, type Operation } from "../../../contracts/Authorization.ts"
import { OperationDenied } from "../../../contracts/Errors.ts"
import { HeddleRpc } from "../../../contracts/HeddleRpc.ts"
import { OwnerRpc } from "../../../contracts/OwnerRpc.ts"
import { RegistryRpc } from "../../../contracts/RegistryRpc.ts"
import { ThreadRpc } from "../../../contracts/ThreadRpc.ts"
import type { WireExit } from "../../../contracts/transport/index.ts"
import { mintToken } from "../../../scripts/mintToken.ts"
import { grants, ownerId, submission, submissionId, threadId } from "../client/fakes.ts"
import { bearer, line, messages, rpcRequest, secret } from "../client/httpWorld.ts"
import { operations } from "../client/operations.ts"
import { type EdgeWorld, type EdgeWorldOptions, makeEdgeWorld } from "./EdgeWorld.ts"

type Name = keyof typeof operations
const names = Object.keys(operations) as ReadonlyArray<Name>

interface Place {
  readonly ownerId: string
  readonly threadId: string
  readonly submissionId: string
}

/** The payload of an operation about another place. */
const payloadAt = (name: Name, place: Place): unknown =>
  JSON.parse(
    JSON.stringify(operations[name].payload)
      .replaceAll(`"${ownerId}~${threadId}~`, `"${place.ownerId}~${place.threadId}~`)
      .replaceAll(`"${ownerId}"`, `"${place.ownerId}"`)
      .replaceAll(`"${threadId}"`, `"${place.threadId}"`)
      .replaceAll(submissionId, place.submissionId),
  ) as unknown

const request = (name: string, payload: unknown) => ({
  _tag: "Request",
  id: "1",
  tag: name,
  payload,
  headers: [],
})

const waits = { waitMillis: 20, forgetWaitMillis: 20, mutationMillis: 2_000 }
const everything = { principal: "ada", owners: ["*"] }
const sink = () => Promise.resolve()

const submitTo = async (world: EdgeWorld, place: Omit<Place, "submissionId">): Promise<Place> => {
  const exit = await world.overBinding(everything, request("submit", { ...submission, ...place }))
  if (exit._tag !== "Success") throw new Error(JSON.stringify(exit))
  return { ...place, submissionId: (exit.value as Place).submissionId }
}

const invented: Place = {
  ownerId: "nobody",
  threadId: "nothing",
  submissionId: "018f0000-0000-7000-8000-0000000000ff",
}

/** A world with a submission at each of these places, and a place where there is nothing. */
const makeInhabited = async (options: EdgeWorldOptions = {}) => {
  const world = makeEdgeWorld({ ...options, limits: waits })
  const own = await submitTo(world, { ownerId, threadId })
  const sibling = await submitTo(world, { ownerId, threadId: "order-8" })
  const foreign = await submitTo(world, { ownerId: "bank", threadId: "vault" })
  await world.rest()
  return { world, own, sibling, foreign }
}

const expiresInSeconds = 600
const tokenOf = (granted: Record<string, unknown>) =>
  mintToken({ grants: grants(granted), secret, expiresInSeconds })

const elsewhere = { owners: ["elsewhere-*"] }
const otherThread = { owners: ["*"], threads: ["mine", "mine-*"] }
const without = (name: Name) => ({ owners: ["*"], operations: names.filter((one) => one !== name) })

/** Who is not let in over HTTPS, and with what status. */
const strangersWithTokens = (name: Name) => [
  { who: "without a token", token: undefined, status: 401 },
  {
    who: "with a token of another key",
    token: mintToken({ grants: grants(), secret: secret.toUpperCase(), expiresInSeconds }),
    status: 401,
  },
  {
    who: "with an expired token",
    token: mintToken({ grants: grants(), secret, expiresInSeconds: -61 }),
    status: 401,
  },
  { who: "of another owner", token: tokenOf(elsewhere), status: 200 },
  { who: "of another thread", token: tokenOf(otherThread), status: 200 },
  { who: "of other operations", token: tokenOf(without(name)), status: 200 },
]

/** Who is not let in over a service binding. */
const strangersWithProps = (name: Name) => [
  { who: "without props", props: undefined },
  { who: "with props that say nothing", props: {} },
  { who: "of another owner", props: { ...everything, ...elsewhere } },
  { who: "of another thread", props: { ...everything, ...otherThread } },
  { who: "of other operations", props: { ...everything, ...without(name) } },
]

const deniedExit = (operation: string) => ({
  _tag: "Failure",
  cause: [{ _tag: "Fail", error: { _tag: "OperationDenied", operation } }],
})

describe("every operation", () => {
  let inhabited: Awaited<ReturnType<typeof makeInhabited>>
  beforeAll(async () => {
    inhabited = await makeInhabited()
  })

  it("is in the matrix", () => {
    expect(names.toSorted()).toEqual([...HeddleRpc.requests.keys()].toSorted())
  })

  describe.each(names)("%s", (name) => {
    it("is answered alike over HTTPS to who is not let in, whatever is there", async () => {
      const { foreign, own, sibling, world } = inhabited
      const before = { reached: world.reached(), written: world.written() }
      for (const { status, token, who } of strangersWithTokens(name)) {
        const answers = []
        for (const place of [own, sibling, foreign, invented]) {
          answers.push(await world.overHttps(await token, line(name, payloadAt(name, place))))
        }
        const [first, ...others] = answers
        expect({ who, ...first }).toEqual({
          who,
          status,
          said:
            status === 401
              ? [{ _tag: "Unauthenticated", reason: expect.any(String) }]
              : [{ _tag: "Exit", requestId: "1", exit: deniedExit(name) }],
        })
        for (const other of others) expect({ who, ...other }).toEqual({ who, ...first })
      }
      expect({ reached: world.reached(), written: world.written() }).toEqual(before)
    })

    it("is denied alike over a binding to who is not let in, whatever is there", async () => {
      const { foreign, own, sibling, world } = inhabited
      const before = { reached: world.reached(), written: world.written() }
      for (const { props, who } of strangersWithProps(name)) {
        for (const place of [own, sibling, foreign, invented]) {
          const message = request(name, payloadAt(name, place))
          const exit = await world.overBinding(props, message, sink)
          expect({ who, exit }).toEqual({ who, exit: deniedExit(name) })
        }
      }
      expect({ reached: world.reached(), written: world.written() }).toEqual(before)
    })
  })

  it("of those that name a submission says of another thread's what it says of none", async () => {
    const { foreign, own, sibling, world } = inhabited
    const mine = { ...everything, owners: [ownerId], threads: [threadId] }
    const about = names.filter((name) =>
      JSON.stringify(operations[name].payload).includes(submissionId),
    )
    expect(about.length).toBeGreaterThan(5)
    for (const name of about) {
      const answers = []
      for (const other of [sibling.submissionId, foreign.submissionId, invented.submissionId]) {
        const payload = payloadAt(name, { ...own, submissionId: other })
        const exit = await world.overBinding(mine, request(name, payload), sink)
        answers.push(JSON.stringify(exit).replaceAll(other, "ID"))
      }
      const [first, ...others] = answers
      expect({ name, first }).toEqual({ name, first: expect.stringContaining("NotFound") })
      expect({ name, others }).toEqual({ name, others: [first, first] })
    }
  })

  it("is no way to another principal's receipt", async () => {
    const { own, world } = inhabited
    const submit = request("submit", { ...submission, ownerId, threadId })
    const receipt = async (principal: string) => {
      const exit = await world.overBinding({ ...everything, principal }, submit)
      return exit._tag === "Success" ? (exit.value as { duplicate: boolean } & Place) : undefined
    }
    expect(await receipt("ada")).toMatchObject({ submissionId: own.submissionId, duplicate: true })
    const other = await receipt("ben")
    expect(other).toMatchObject({ duplicate: false })
    expect(other?.submissionId).not.toBe(own.submissionId)
  })
})

describe("every operation, to who is let in,", () => {
  it.each(names)("%s is answered over both edges", async (name) => {
    const { own, world } = await makeInhabited()
    const message = request(name, payloadAt(name, own))
    // What an object has to say to a valid call is its own affair; that it says it, is not. Of a token that nobody
    // gave away, it is that the call is denied: callback.test.ts.
    const unheard =
      name === "callback"
        ? /Unauthenticated|InvalidInput|Unavailable|InternalDefect/
        : /OperationDenied|Unauthenticated|InvalidInput|Unavailable|InternalDefect/
    const exit = await world.overBinding(everything, message, sink)
    expect(JSON.stringify(exit)).not.toMatch(unheard)
    const answered = await world.overHttps(
      await tokenOf({ owners: ["*"] }),
      `${JSON.stringify(message)}\n`,
    )
    expect(answered.status).toBe(200)
    const last = answered.said.at(-1) as { readonly exit: WireExit }
    expect(last.exit._tag).toMatch(/Success|Failure/)
    expect(JSON.stringify(last.exit)).not.toMatch(unheard)
  })

  it("that names a browser's own thread alone is served that thread, and no other", async () => {
    const { own, sibling, world } = await makeInhabited()
    const token = await tokenOf({
      owners: [ownerId],
      threads: [threadId],
      operations: ["submit", "status", "observe", "await*"],
    })
    const tagsOf = async (name: Name, place: Place) => {
      const { said } = await world.overHttps(token, line(name, payloadAt(name, place)))
      return JSON.stringify(said.at(-1)).includes("OperationDenied")
    }
    for (const name of ["submit", "status", "observe", "awaitSettlement"] as const) {
      expect([name, await tagsOf(name, own)]).toEqual([name, false])
      expect([name, await tagsOf(name, sibling)]).toEqual([name, true])
    }
    for (const name of ["history", "abort", "listThreads", "submitMany"] as const) {
      expect([name, await tagsOf(name, own)]).toEqual([name, true])
    }
  })
})

describe("the methods of the objects", () => {
  const internal = [ThreadRpc, OwnerRpc, RegistryRpc].flatMap((group) => [...group.requests.keys()])
  const hidden = [...new Set(internal)].filter((tag) => !HeddleRpc.requests.has(tag))

  it("are served to nobody, whatever is granted and whoever a message says it is from", async () => {
    expect(hidden.length).toBeGreaterThan(10)
    const { own, world } = await makeInhabited()
    const before = world.written()
    const token = await tokenOf({ owners: ["*"] })
    const payload = { ...own, generation: "g", now: 1, report: {}, principal: "eve" }
    for (const tag of hidden) {
      for (const caller of [
        { _tag: "Owner", ownerId },
        { _tag: "Thread", ownerId, threadId },
        { _tag: "Scheduler" },
      ] as const) {
        const headers = callerHeaders(caller)
        const message = { ...request(tag, payload), headers: Object.entries(headers) }
        const exit = await world.overBinding(everything, message, sink)
        expect({ tag, exit }).toMatchObject({ tag, exit: { cause: [{ error: notServed }] } })
        const response = await world.fetch(
          rpcRequest(JSON.stringify(message), { ...bearer(token), ...headers }),
        )
        const [said] = (await messages(response)) as ReadonlyArray<unknown>
        expect({ tag, said }).toMatchObject({
          tag,
          said: { exit: { cause: [{ error: notServed }] } },
        })
      }
    }
    expect(world.written()).toBe(before)
  })
})

const notServed = {
  _tag: "Unavailable",
  retryable: false,
  reason: "The peer does not serve this method",
}

describe("the application's own policy", () => {
  /** Of `explain` and `observe` the edge asks the owner besides, in its own name. */
  const completing = new Set(["laneStatus"])

  it.each(names)("is asked about %s once, before anything is read or written", async (name) => {
    let asked: Array<Operation> = []
    let denies = false
    const authorizer = {
      authorize: (operation: Operation) => {
        asked.push(operation)
        return denies ? Effect.fail(new OperationDenied({ operation: "x" })) : Effect.void
      },
    }
    const { foreign, own, world } = await makeInhabited({ authorizer })
    denies = true
    const before = { written: world.written(), read: world.read() }
    const answers = new Set<string>()
    for (const place of [own, foreign, invented]) {
      asked = []
      const message = request(name, payloadAt(name, place))
      const exit = await world.overBinding(everything, message, sink)
      answers.add(JSON.stringify(exit))
      const about = asked.filter(({ operation }) => !completing.has(operation))
      expect(about.map(({ operation }) => operation)).toEqual([name])
      // Who holds a token speaks as the one principal that tokens have.
      expect(about[0]?.principal).toBe(name === "callback" ? "callback" : "ada")
      expect(about[0]?.ownerId).toBe(name === "listOwners" ? undefined : place.ownerId)
    }
    expect([...answers]).toEqual([JSON.stringify(deniedExit(name))])
    expect({ written: world.written(), read: world.read() }).toEqual(before)
  })

  it("is asked about each thread of a call about several", async () => {
    const asked: Array<Operation> = []
    const authorizer = {
      authorize: (operation: Operation) => {
        asked.push(operation)
        return Effect.void
      },
    }
    const world = makeEdgeWorld({ authorizer, limits: waits })
    const one = (thread: string, key: string) => ({
      threadId: thread,
      agent: submission.agent,
      input: 1,
      idempotencyKey: key,
    })
    const submissions = [one("a", "1"), one("b", "2"), one("a", "3")]
    await world.overBinding(everything, request("submitMany", { ownerId, submissions }))
    expect(asked.map(({ operation, threadId: thread }) => [operation, thread])).toEqual([
      ["submitMany", "a"],
      ["submitMany", "b"],
    ])
  })
})
