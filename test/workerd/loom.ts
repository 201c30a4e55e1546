/**
 * The test kit of the loom: an owner of its own for each test, the real client over a service
 * binding, and what a test waits for. Waiting looks at rows and never calls the owner: nothing but
 * the alarm drives it.
 */
import { env, exports } from "cloudflare:workers"
import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test"
import { expect } from "@effect/vitest"
import { Context, Effect, Layer, type Schema } from "effect"
import { HeddleClient } from "../../client/HeddleClient.ts"
import { AgentId, IdempotencyKey, OwnerId, ThreadId } from "../../contracts/Identifiers.ts"
import type { JournalRecord } from "../../contracts/JournalRecord.ts"
import type { Receipt } from "../../contracts/Submission.ts"
import type { NativeStub } from "../../contracts/transport/index.ts"
import { openGate } from "./loom-agents.ts"
import { plan, type Plan } from "./loom-control.ts"
import type { LoomOwner, LoomThread, Profile } from "./loom-worker.ts"

interface LoopbackEntrypoint {
  (options: { readonly props: unknown }): NativeStub
}

/** The edge, bound as a caller of these grants binds it. */
export const binding = (
  owners: ReadonlyArray<string> = ["*"],
  entrypoint: "LoomApi" | "LoomTracedApi" = "LoomApi",
): NativeStub =>
  (exports as unknown as Record<typeof entrypoint, LoopbackEntrypoint>)[entrypoint]({
    props: { principal: "ada", owners },
  })

const pauseMillis = 5
const patienceMillis = 20_000

/** Waits until it holds; a wait that is given up tells what it saw last. */
export const until = Effect.fnUntraced(function* (
  what: string,
  holds: () => boolean | Promise<boolean>,
  saw: () => unknown,
) {
  const start = Date.now()
  while (!(yield* Effect.promise(async () => holds()))) {
    if (Date.now() - start > patienceMillis) {
      const state = yield* Effect.promise(async () => saw())
      throw new Error(`${what}: not after ${patienceMillis} ms; ${JSON.stringify(state)}`)
    }
    yield* Effect.sleep(pauseMillis)
  }
})

/** Nothing stores bytes. */
type Row = Record<string, string | number | null>

/** The rows and the alarm of an object as they are; starts nothing in it. */
const look = (
  stub: DurableObjectStub<LoomOwner> | DurableObjectStub<LoomThread>,
  ...tables: ReadonlyArray<string>
) =>
  runInDurableObject(stub as DurableObjectStub, async (_, { storage }) => {
    const made = storage.sql
      .exec<{ name: string }>("/* looked at */ SELECT name FROM sqlite_schema")
      .toArray()
    const known = new Set(made.map(({ name }) => name))
    const rows: Record<string, Array<Row>> = {}
    for (const table of tables)
      rows[table] = known.has(table)
        ? storage.sql.exec<Row>(`/* looked at */ SELECT * FROM ${table}`).toArray()
        : []
    return { alarmAt: await storage.getAlarm(), rows }
  })

let made = 0

export interface SubmitOptions {
  readonly thread?: string
  readonly agent?: string
  readonly input?: typeof Schema.Json.Type
  readonly key?: string
}

/** An owner of a profile that no other test knows, and what one does with it. */
export const openLoom = Effect.fnUntraced(function* (profile: Profile) {
  made += 1
  const ownerId = OwnerId.make(`${profile}.${made}.${crypto.randomUUID().slice(0, 8)}`)
  const bound = profile === "traced" ? binding(["*"], "LoomTracedApi") : binding()
  const context = yield* Layer.build(HeddleClient.layerServiceBinding(bound))
  const client = Context.get(context, HeddleClient)
  const owner = () => env.LOOM_OWNERS.getByName(ownerId)
  const thread = (name: string) => env.LOOM_THREADS.getByName(`${ownerId}/${name}`)
  const rows = () => look(owner(), "lanes", "maintenance")

  const submit = ({
    agent = "weave",
    input = { value: 1 },
    key,
    thread: name = "a",
  }: SubmitOptions = {}) =>
    client.submit({
      ownerId,
      threadId: ThreadId.make(name),
      agent: AgentId.make(agent),
      input,
      ...(key === undefined ? {} : { idempotencyKey: IdempotencyKey.make(key) }),
    })

  /** Submits all of these in one call, as a caller does who is told that it may try again. */
  const manyAccepted = (all: ReadonlyArray<SubmitOptions>) =>
    Effect.gen(function* () {
      const submissions = all.map(
        ({ agent = "weave", input = { value: 1 }, key, thread: name = "a" }) => ({
          threadId: ThreadId.make(name),
          agent: AgentId.make(agent),
          input,
          ...(key === undefined ? {} : { idempotencyKey: IdempotencyKey.make(key) }),
        }),
      )
      const { outcomes } = yield* client.submitMany({ ownerId, submissions })
      return yield* Effect.forEach(outcomes, (outcome) =>
        outcome._tag === "Accepted" ? Effect.succeed(outcome.receipt) : Effect.fail(outcome.error),
      )
    })

  /** Waits until the owner owes nothing: no lane with work, no pass, no alarm. */
  const quiet = until(
    "the owner is quiet",
    async () => {
      const { alarmAt, rows: found } = await rows()
      const busy = found["lanes"]?.some(
        (lane) => lane["work"] !== null || lane["enrolled"] !== null,
      )
      const row = found["maintenance"]?.[0]
      const idle = row === undefined || (row["unfinished"] === 0 && row["in_flight"] === "[]")
      return alarmAt === null && busy === false && idle
    },
    rows,
  )

  /** No lane needs anything. The alarm of a watch that is no longer needed may still stand. */
  const idle = until(
    "no lane needs anything",
    async () => {
      const { rows: found } = await rows()
      return found["lanes"]?.every((lane) => lane["work"] === null) === true
    },
    rows,
  )

  const history = (name = "a") =>
    Effect.gen(function* () {
      const records: Array<JournalRecord> = []
      let after: number | undefined = 0
      while (after !== undefined) {
        const page: { readonly records: ReadonlyArray<JournalRecord>; readonly next?: number } =
          yield* client.rpc.history({ ownerId, threadId: ThreadId.make(name), after })
        records.push(...page.records)
        after = page.next
      }
      return records
    })

  const inOwner = <A>(use: (state: DurableObjectState) => A | Promise<A>) =>
    Effect.promise(() => runInDurableObject(owner() as DurableObjectStub, (_, state) => use(state)))
  const inThread = <A>(name: string, use: (state: DurableObjectState) => A | Promise<A>) =>
    Effect.promise(() =>
      runInDurableObject(thread(name) as DurableObjectStub, (_, state) => use(state)),
    )

  return {
    ownerId,
    client,
    owner,
    thread,
    rows,
    submit,
    /** Submits as a caller does who was told that it may try again: under the same key. */
    accepted: (options: SubmitOptions & { readonly key: string }) =>
      Effect.retry(submit(options), {
        while: (error) => error._tag === "Unavailable" && error.retryable,
        times: 5,
      }),
    manyAccepted,
    quiet,
    idle,
    history,
    inOwner,
    inThread,
    /** Opens a gate that the thread waits at; it may die of that. */
    open: (gate: string, name = "a") =>
      Effect.ignore(
        Effect.tryPromise(() =>
          runInDurableObject(thread(name) as DurableObjectStub, () =>
            openGate(`${ownerId}/${gate}`),
          ),
        ),
      ),
    /** Waits for the settlement at the thread; the owner is not asked. */
    settled: (receipt: Receipt) => client.awaitSettled(receipt),
    until: (what: string, holds: () => boolean | Promise<boolean>) => until(what, holds, rows),
    /** With a place it happens to that thread alone. */
    plan: (kind: Plan["kind"], point: string, action: Plan["action"] = "die", place?: string) =>
      plan({ kind, ownerId, point, action, ...(place === undefined ? {} : { thread: place }) }),
    /** Has the thread's object die now. */
    killThread: (name = "a") =>
      Effect.ignore(
        Effect.tryPromise(() =>
          runInDurableObject(thread(name) as DurableObjectStub, (_, state) => {
            state.abort("the test has the object die now")
          }),
        ),
      ),
  }
})

export type Loom = Effect.Success<ReturnType<typeof openLoom>>

/** Every object dies, as in a crash of the machine. */
export const killAll = Effect.promise(() => abortAllDurableObjects())

const dropped = new Set(["attempts", "acceptedAt", "recordId"])

/** What happened in a thread, without what differs between equal runs: ids, times, attempts. */
export const normalised = (records: ReadonlyArray<JournalRecord>): ReadonlyArray<string> => {
  const submissions = [...new Set(records.map((record) => record.submissionId))]
  return records
    .filter((record) => record.kind !== "AttemptInterrupted")
    .map(({ kind, name, payload, submissionId }) => {
      const kept = JSON.stringify(payload, (key, value: unknown) =>
        dropped.has(key) ? undefined : value,
      )
      return `${submissions.indexOf(submissionId)} ${kind} ${name ?? ""} ${kept}`
    })
}

/** Sequences count from 1 without a gap. */
export const expectContiguous = (records: ReadonlyArray<JournalRecord>): void =>
  expect(records.map((record) => record.sequence)).toEqual(records.map((_, index) => index + 1))
