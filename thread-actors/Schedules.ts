/**
 * The commands `schedule` and `unschedule`, and the list: what a thread will give itself, by name.
 *
 * - S1 The same again changes nothing: it keeps its next time and what is told of it. Other content replaces it, and
 *   counts from now.
 * - S2 What cannot be stored or means nothing is refused before anything is written.
 * - S3 Each order is carried out once: a replay of it by the platform neither brings a schedule back nor takes a newer one
 *   away. An untouched thread keeps no order to remove; so one that comes behind a newer schedule is not taken.
 * - S4 A removed schedule gives nothing more; what it has given already stays.
 */
import { Effect, Result } from "effect"
import { AdmissionLimitExceeded, AgentNotRegistered, InvalidInput } from "../contracts/Errors.ts"
import type { AgentId, Generation, Principal } from "../contracts/Identifiers.ts"
import type {
  Schedule,
  SchedulePage,
  ScheduleRefusal,
  UnscheduleRefusal,
  UnscheduleReply,
} from "../contracts/Schedule.ts"
import { contentOf, storageFull } from "./Admission.ts"
import { type Block, touch, transact, transactFirst } from "./Block.ts"
import { nextOccurrence } from "../platform/Cron.ts"
import { durable, type ReadFailure } from "./Durable.ts"
import { fenced, overtaken, remember } from "./Fence.ts"
import type { Identity } from "./Identity.ts"
import {
  countSchedules,
  findSchedule,
  removeSchedule,
  type ScheduleRow,
  schedulesAfter,
  toldSchedule,
  writeSchedule,
} from "./ScheduleRows.ts"
import { sizeLimit } from "./SizeLimit.ts"
import type { Thread } from "./Thread.ts"

export interface ScheduleOrder extends Identity {
  readonly name: string
  readonly cron: string
  readonly timeZone?: string | undefined
  readonly agent: AgentId
  readonly title?: string | undefined
  readonly input: unknown
  readonly principal: Principal
  readonly generation: Generation
}

export interface UnscheduleOrder extends Identity {
  readonly name: string
  readonly generation: Generation
}

type Answer = Result.Result<Schedule, ScheduleRefusal>

/** What an order says, as it would be stored. */
type Said = Pick<
  ScheduleRow,
  "name" | "cron" | "timeZone" | "agent" | "title" | "principal" | "input"
> & { readonly bytes: number }

/** What no thread stores, at any time. // S2 */
const saidOf = (
  thread: Thread,
  order: ScheduleOrder,
): Result.Result<Said, InvalidInput | AdmissionLimitExceeded> => {
  const { agent, cron, input, name, principal, title } = order
  const timeZone = order.timeZone ?? null
  const content = contentOf(thread, { agent, input, ...(title === undefined ? {} : { title }) })
  if (Result.isSuccess(content) && content.success.tooDeep !== undefined)
    return Result.fail(content.success.tooDeep)
  const times = nextOccurrence({ cron, timeZone }, 0)
  if (Result.isFailure(times)) return Result.fail(new InvalidInput(times.failure))
  return Result.map(content, ({ canonical }) => ({
    name,
    cron,
    timeZone,
    agent,
    title: title ?? null,
    principal,
    input: canonical.text,
    bytes: canonical.bytes,
  }))
}

const compared = ["cron", "timeZone", "agent", "title", "principal", "input"] as const

const isSame = (row: ScheduleRow, said: Said): boolean =>
  compared.every((part) => row[part] === said[part])

/** Refusals that another deployment or disk, or fewer schedules, would not give. */
const limited = (block: Block, said: Said, isNew: boolean): ScheduleRefusal | undefined => {
  const { limits, options } = block.thread
  if (!options.agents.has(said.agent)) return new AgentNotRegistered({ agent: said.agent })
  const maximum = sizeLimit(limits, "inputBytes")
  if (said.bytes > maximum)
    return new AdmissionLimitExceeded({ limit: "inputBytes", actual: said.bytes, maximum })
  const { schedulesPerThread } = limits
  const count = isNew ? countSchedules(block.sql) + 1 : 0
  if (count > schedulesPerThread)
    return new AdmissionLimitExceeded({
      limit: "schedulesPerThread",
      actual: count,
      maximum: schedulesPerThread,
    })
  return storageFull(block.thread)
}

const setIn = (block: Block, { bytes: _bytes, ...said }: Said): Schedule => {
  const next = Result.getOrElse(nextOccurrence(said, block.now), () => undefined)
  const row: ScheduleRow = {
    ...said,
    createdAt: block.now,
    nextAt: next ?? null,
    dueAt: next ?? null,
    tries: 0,
    waitsFor: null,
    lastAt: null,
    lastSubmissionId: null,
    collapsed: 0,
  }
  writeSchedule(block.sql, row)
  touch(block)
  return toldSchedule(row)
}

const scheduleIn = (block: Block, said: Said, generation: Generation): Answer => {
  const late = fenced(block, generation)
  if (late !== undefined) return Result.fail(late)
  remember(block, generation) // S3
  const before = findSchedule(block.sql, said.name)
  if (before !== undefined && isSame(before, said)) return Result.succeed(toldSchedule(before)) // S1
  const refusal = limited(block, said, before === undefined)
  return refusal === undefined ? Result.succeed(setIn(block, said)) : Result.fail(refusal) // S1
}

/** Sets a schedule. */
export const schedule = (
  thread: Thread,
  order: ScheduleOrder,
): Effect.Effect<Answer, ReadFailure> => {
  const said = saidOf(thread, order)
  if (Result.isFailure(said)) return Effect.succeed(Result.fail(said.failure)) // S2
  return durable(thread, "schedule", () =>
    transactFirst(thread, order, (block) => scheduleIn(block, said.success, order.generation)),
  )
}

const unscheduleIn = (
  block: Block,
  { generation, name }: UnscheduleOrder,
): Result.Result<UnscheduleReply, UnscheduleRefusal> => {
  const late = fenced(block, generation) ?? overtaken(block, generation) // S3
  if (late !== undefined) return Result.fail(late)
  remember(block, generation) // S3
  const removed = removeSchedule(block.sql, name) // S4
  if (removed) touch(block)
  return Result.succeed({ removed })
}

/** Removes a schedule. */
export const unschedule = (
  thread: Thread,
  order: UnscheduleOrder,
): Effect.Effect<Result.Result<UnscheduleReply, UnscheduleRefusal>, ReadFailure> =>
  thread.hasTables
    ? durable(thread, "schedule", () => transact(thread, (block) => unscheduleIn(block, order)))
    : Effect.succeed(Result.succeed({ removed: false }))

export interface SchedulesQuery {
  readonly after?: string | undefined
  readonly limit?: number | undefined
}

/** As many as a page may hold; one, however large it is. */
const fitting = (
  rows: ReadonlyArray<ScheduleRow>,
  bytesMax: number,
): ReadonlyArray<ScheduleRow> => {
  let bytes = 0
  const end = rows.findIndex((row, at) => (bytes += row.input.length) > bytesMax && at > 0)
  return end < 0 ? rows : rows.slice(0, end)
}

/** A page of the schedules, by name. */
export const readSchedules = (
  { hasTables, host, limits }: Thread,
  { after = "", limit }: SchedulesQuery,
): SchedulePage => {
  if (!hasTables) return { schedules: [] }
  const most = Math.min(Math.max(limit ?? limits.pageSchedules, 1), limits.pageSchedules)
  const rows = schedulesAfter(host.storage.sql, { after, limit: most + 1 })
  const page = fitting(rows.slice(0, most), limits.historyBytes)
  const last = page.at(-1)
  return {
    schedules: page.map(toldSchedule),
    ...(last === undefined || page.length === rows.length ? {} : { next: last.name as never }),
  }
}
