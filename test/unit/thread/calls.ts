/**
 * For tests of tool calls: the outside with a log of its own, tools and agents that call it, and a drain that
 * holds the thread to what its report promises at every step.
 */
import { type Duration, Effect, Exit, Schema } from "effect"
import { expect } from "vitest"
import type { JournalRecord } from "../../../contracts/JournalRecord.ts"
import type { LaneReport } from "../../../contracts/LaneReport.ts"
import type { SubmissionId } from "../../../contracts/Identifiers.ts"
import type { VerifyReply } from "../../../contracts/Verify.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { go, tags, type World } from "./harness.ts"

export class Declined extends Schema.TaggedError<Declined>()("Declined", { code: Schema.Number }) {}

export const io = { input: Schema.String, output: Schema.Json, error: Declined }

export const executions = ["readonly", "idempotent", "ordinary"] as const

type Reconcile = Agent.ToolOptions<string, Declined, never, "ordinary">["reconcile"]

/** A tool that pays, and can decline. */
export const payment = (
  execution: Agent.Execution = "ordinary",
  options: {
    readonly reconcile?: Reconcile
    readonly timeout?: Duration.Input
    readonly name?: string
  } = {},
): Agent.Tool<string, Declined, never, Agent.Execution> =>
  Agent.tool(options.name ?? "payment", {
    result: Schema.String,
    error: Declined,
    execution,
    timeout: options.timeout ?? "20 seconds",
    ...(options.reconcile === undefined ? {} : { reconcile: options.reconcile }),
  })

/** What really happened: each call that reached the outside, in its order. */
export const makeOutside = () => {
  const started: Array<string> = []
  return {
    started,
    /** Notes the start, then goes on as told. */
    body:
      <A, E>(goOn: (call: Agent.ToolCall, start: number) => Effect.Effect<A, E>) =>
      (call: Agent.ToolCall): Effect.Effect<A, E> =>
        Effect.suspend(() => goOn(call, started.push(call.name))),
  }
}

/** What a handler can tell of an outcome, as text. */
export const wordOf = (exit: Exit.Exit<unknown, unknown>): string =>
  Exit.match(exit, {
    onSuccess: String,
    onFailure: ({ reasons }) => {
      const [reason] = reasons
      if (reason?._tag !== "Fail") return reason?._tag ?? "nothing"
      const error = reason.error as { readonly _tag: string; readonly code?: number }
      return error.code === undefined ? error._tag : `${error._tag} ${error.code}`
    },
  })

/** A look at an outcome from inside the handler, with the kind of the call's last record at that time. */
export const makeWitness = () => {
  const saw: Array<string> = []
  const source: { world?: World } = {}
  return {
    saw,
    of: (world: World) => void (source.world = world),
    see: <A, E, R>(name: string, use: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.onExit(use, (exit) =>
        Effect.sync(() => {
          if (Exit.isFailure(exit) && exit.cause.reasons.some(({ _tag }) => _tag === "Interrupt"))
            return
          const [last] =
            source.world?.storage.sql.all<{ kind: string }>(
              "SELECT kind FROM journal WHERE name = ? ORDER BY part DESC LIMIT 1",
              name,
            ) ?? []
          saw.push(`${wordOf(exit)}: ${last?.kind ?? "no record"}`)
        }),
      ),
  }
}

/** The records of a thread as text: kind, name and part. */
export const recordsOf = async (world: World): Promise<Array<string>> => {
  const rows = world.storage.sql.all<{ kind: string; name: string | null; part: number }>(
    "SELECT kind, name, part FROM journal ORDER BY sequence",
  )
  return rows.map(({ kind, name, part }) => (name === null ? kind : `${kind} ${name} ${part}`))
}

/** Those about calls. */
export const callRecords = async (world: World): Promise<Array<string>> =>
  (await recordsOf(world)).filter((record) => record.startsWith("Tool"))

export const openRows = (world: World) =>
  world.storage.sql.all<Record<string, number | string | null>>("SELECT * FROM calls")

export const stateOf = async (world: World, submissionId: SubmissionId) =>
  (await go(world.status(submissionId))).state

export const settlementOf = async (world: World, submissionId: SubmissionId) =>
  (await go(world.status(submissionId))).settlement

/** The `ToolUnknown` records of a submission, oldest first. */
export const questionsOf = async (world: World, submissionId: SubmissionId) => {
  const records: Array<JournalRecord> = [...(await go(world.history())).records]
  return records
    .filter((record) => record.kind === "ToolUnknown" && record.submissionId === submissionId)
    .map(({ name, payload }) => ({
      name,
      submissionId,
      recordId: (payload as { readonly recordId: string }).recordId as never,
      why: (payload as { readonly why: string }).why,
    }))
}

/** When the last call is over whose body ended here: its timeout after it was begun, and 5 s of clocks. */
export const overAt = async (world: World): Promise<number> => {
  const records: Array<JournalRecord> = [...(await go(world.history())).records]
  const begun = records.findLast(({ kind }) => kind === "ToolPrepared")
  if (begun === undefined) throw new Error("no call was begun")
  const { timeoutMillis } = begun.payload as { readonly timeoutMillis: number }
  return begun.recordedAt + timeoutMillis + 5_000
}

/** Moves the clock to the time at which recovery has something to do. */
export const toRecovery = async (world: World): Promise<void> => {
  const { recoverAt = 0 } = (await go(world.inspect())).report
  world.time.now = Math.max(world.time.now, recoverAt)
}

/** What a call changes, apart from time. */
export const changesOf = async (world: World, call: () => Promise<unknown>): Promise<boolean> => {
  const before = world.storage.dump()
  await call()
  return world.storage.dump() !== before
}

const process = (world: World) => () => go(world.process({ attentionMillis: 200 }))
const recover = (world: World) => () => go(world.recover())

/** Its ledger and its journal hold together. */
export const expectVerified = async (world: World): Promise<void> => {
  let after: number | undefined = 0
  while (after !== undefined) {
    const page: VerifyReply = await go(world.asReader.verify({ ...world.address, after }))
    expect(page.checks.filter(({ _tag }) => _tag === "Failed")).toEqual([])
    after = page.next
  }
}

/** Nothing is due: no call changes anything, now or after the day that this takes. */
export const expectRest = async (world: World): Promise<LaneReport> => {
  const { report } = await go(world.inspect())
  expect(report.dueAt).toBeUndefined()
  expect(report.recoverAt).toBeUndefined()
  for (const later of [0, 86_400_000]) {
    world.time.now += later
    expect(await changesOf(world, process(world))).toBe(false)
    expect(await changesOf(world, recover(world))).toBe(false)
  }
  await expectVerified(world)
  return report
}

/** The object dies while an attempt hangs. */
export const lose = async (world: World, next: Parameters<World["crash"]>[0] = {}) => {
  expect(await tags(world.process({ attentionMillis: 20 }))).toEqual(["Running"])
  world.crash(next)
}

/** What recovery says of each submission without a settlement. */
export const decisionsOf = async (world: World): Promise<Array<string>> => {
  const { result } = await go(world.recover())
  if (result._tag === "Failure") throw result.error
  return result.value.map(({ decision, disposition }) => `${decision}: ${disposition}`)
}

/** One step of the owner, and the report's promise about it. Gives whether there was one. */
const step = async (world: World): Promise<boolean> => {
  const { report } = await go(world.inspect())
  const { dueAt, recoverAt } = report
  if (recoverAt !== undefined) {
    if (recoverAt > world.time.now) expect(await changesOf(world, recover(world))).toBe(false)
    world.time.now = Math.max(world.time.now, recoverAt)
    expect(await changesOf(world, recover(world))).toBe(true)
    return true
  }
  if (dueAt === undefined) return false
  if (dueAt > world.time.now) expect(await changesOf(world, process(world))).toBe(false)
  world.time.now = Math.max(world.time.now, dueAt)
  expect(await changesOf(world, process(world))).toBe(true)
  return true
}

/** Plays the owner until nothing is due, and checks what each report says on the way. */
export const settle = async (world: World): Promise<LaneReport> => {
  for (let round = 0; round < 200; round++) if (!(await step(world))) return expectRest(world)
  throw new Error("the thread does not come to rest")
}
