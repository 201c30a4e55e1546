/**
 * `run.child`: work that another agent does in a thread of its own, and that this run sees settled before it settles.
 *
 * - C1 The request, the wait for it, the row by which the parent's end waits for it, and what carries it are one block:
 *   a child is asked for once, under an id that is a function of its run and name.
 * - C2 A limit that refuses a child is recorded: entered again, the run is told the same.
 * - C3 A child that failed, was aborted, or could not be admitted is a typed failure.
 */
import { Effect, Result } from "effect"
import { ChildLimitExceeded } from "../contracts/Errors.ts"
import { ThreadId } from "../contracts/Identifiers.ts"
import {
  type AnyAgent,
  ChildFailed,
  type ChildOptions,
  type DetachedChild,
  type Json,
} from "./Agent.ts"
import type { Block } from "./Block.ts"
import { openChild } from "./ChildRows.ts"
import {
  appendFact,
  leave,
  readFact,
  recall,
  type Recorded,
  type Running,
  takeName,
  writeFact,
} from "./Fact.ts"
import { bytesOf } from "./Journal.ts"
import { jsonCoder } from "./JsonCoder.ts"
import { misuse } from "./Misuse.ts"
import { messageIdOf, queue, sentUnder } from "./Outbox.ts"
import { parentOf } from "./Parent.ts"
import { encoded, sentPlace } from "./StoredValue.ts"
import { isTitle } from "./Title.ts"
import { tellOwner } from "./TellOwner.ts"
import { unfit } from "./UnfitInput.ts"
import { waitNamed } from "./Waiting.ts"

export interface ChildUse {
  readonly name: string
  readonly agent: AnyAgent
  readonly input: unknown
  readonly options: ChildOptions
}

interface Plan extends ChildUse {
  readonly childId: ReturnType<typeof messageIdOf>
  readonly threadId: ThreadId
  readonly depth: number
  /** Canonical JSON. */
  readonly payload: string
}

const isDetached = ({ options }: ChildUse): boolean => options.detached === true

const depthOf = ({ live }: Running): number => (parentOf(live.row)?.depth ?? 0) + 1

/** The child as it is asked for, or the end of the attempt. */
const planOf = (running: Running, use: ChildUse): Effect.Effect<Plan> =>
  Effect.suspend(() => {
    const { agent, name, options } = use
    const { limits } = running.thread
    const input = encoded(agent.input, use.input, sentPlace(limits))
    if (Result.isFailure(input)) return unfit(running, `child ${name}`, input.failure)
    const { title } = options
    if (title !== undefined && !isTitle(title))
      return misuse(`child ${name}: its title has more than 256 characters, or no text`)
    const childId = messageIdOf("Child", running.live.row.id, name)
    const threadId = ThreadId.make(`child:${childId}`)
    const depth = depthOf(running)
    const said = [
      `"agent":${JSON.stringify(agent.name)}`,
      `"childId":"${childId}"`,
      `"depth":${depth}`,
      `"detached":${String(isDetached(use))}`,
      `"input":${input.success}`,
      `"threadId":"${threadId}"`,
      ...(title === undefined ? [] : [`"title":${JSON.stringify(title)}`]),
    ]
    return Effect.succeed({ ...use, childId, threadId, depth, payload: `{${said.join()}}` })
  })

/** How many children this run has asked for. */
const countChildren = ({ live, thread }: Running): number =>
  thread.host.storage.sql.all<{ count: number }>(
    `SELECT count(*) AS count FROM journal
     WHERE submission = ? AND name IS NOT NULL AND kind = 'ChildRequested'`,
    live.sequence,
  )[0]?.count ?? 0

/** The limit that refuses one more child, if one does. Counted once an attempt. */
const refusalOf = (running: Running): Effect.Effect<ChildLimitExceeded | undefined> => {
  const { childDepth, childrenPerRun } = running.thread.limits
  const { live } = running
  if (depthOf(running) > childDepth)
    return Effect.succeed(new ChildLimitExceeded({ limit: "childDepth", maximum: childDepth }))
  return Effect.map(
    live.children === undefined
      ? readFact(running, () => countChildren(running))
      : Effect.succeed(live.children),
    (count) => {
      live.children = count
      return count < childrenPerRun
        ? undefined
        : new ChildLimitExceeded({ limit: "childrenPerRun", maximum: childrenPerRun })
    },
  )
}

/** Keeps a refusal. // C2 */
const refuse = (running: Running, name: string, refusal: ChildLimitExceeded) => {
  const { limit, maximum } = refusal
  const payload = `{"refused":${JSON.stringify({ limit, maximum })}}`
  return Effect.andThen(
    writeFact(
      running,
      "child",
      (block) =>
        appendFact(block, running.live, { kind: "ChildRequested", name, payload }) ?? {
          value: undefined,
        },
    ),
    Effect.fail(refusal),
  )
}

/** What carries the request, and what the parent's end waits for. // C1 */
const establish = (block: Block, running: Running, plan: Plan): undefined => {
  const { live } = running
  const { childId, name, payload, threadId } = plan
  const { sequence: submission } = live
  if (!isDetached(plan)) openChild(block.sql, { submission, name, childId, threadId, aborted: 0 })
  queue(block, {
    id: childId,
    ownerId: live.identity.ownerId,
    threadId,
    kind: "Child",
    submission,
    name,
    deadlineAt: null,
    bytes: bytesOf(payload),
    payload: sentUnder(live.sendsUnder),
  })
  live.children = (live.children ?? 0) + 1
  return undefined
}

/** Asks for a child that nobody waits for. */
const requestDetached = (running: Running, plan: Plan) =>
  Effect.andThen(
    writeFact(running, "child", (block) => {
      const { name, payload } = plan
      const full = appendFact(block, running.live, { kind: "ChildRequested", name, payload })
      return full ?? { value: establish(block, running, plan) }
    }),
    tellOwner(running),
  )

/** What the record of its end is to the parent. // C3 */
const outcomeOf = (running: Running, { agent, name }: ChildUse, { payload }: Recorded) => {
  const { abort, failure, outcome, output } = payload as {
    readonly outcome?: unknown
    readonly output?: unknown
    readonly failure?: {
      readonly tag?: unknown
      readonly message?: unknown
      readonly error?: Json
    }
    readonly abort?: { readonly author?: unknown; readonly reason?: unknown }
  }
  if (outcome === "completed") {
    const value = jsonCoder(agent.output).decode(output)
    return Result.isSuccess(value)
      ? Effect.succeed(value.success)
      : leave(running, { _tag: "Mismatch", name })
  }
  const said =
    outcome === "failed"
      ? { tag: String(failure?.tag), message: String(failure?.message) }
      : { tag: "Aborted", message: `${String(abort?.author)}: ${String(abort?.reason)}` }
  const error = failure?.error
  return Effect.fail(
    new ChildFailed({
      child: name,
      outcome: outcome === "failed" ? "failed" : "aborted",
      ...said,
      ...(error === undefined ? {} : { error }),
    }),
  )
}

/** Waits for its settlement; asks for it first, unless that stands already. // C1 */
const awaitEnd = (running: Running, use: ChildUse, plan: Plan | undefined) =>
  Effect.flatMap(
    waitNamed(running, {
      name: use.name,
      kind: "child",
      requestKind: "ChildRequested",
      request: () => ({
        fact: plan === undefined ? undefined : { kind: "ChildRequested", payload: plan.payload },
        dueAt: null,
      }),
      dueAtOf: () => null,
      ...(plan === undefined
        ? {}
        : {
            alongside: (block: Block) => establish(block, running, plan),
            afterwards: tellOwner(running),
          }),
    }),
    (answer) =>
      answer.kind === "ChildSettled"
        ? outcomeOf(running, use, answer)
        : leave(running, { _tag: "Mismatch", name: use.name }),
  )

/** A request that is on record: a refusal again, or the wait for what was asked for. */
const replay = (running: Running, use: ChildUse, { kind, payload }: Recorded) => {
  const refused = payload["refused"] as { readonly limit: string; readonly maximum: number }
  if (kind === "ChildRequested" && refused !== undefined)
    return Effect.fail(new ChildLimitExceeded(refused)) // C2
  if (kind !== "ChildRequested" || payload["agent"] !== use.agent.name)
    return leave(running, { _tag: "Mismatch", name: use.name })
  return payload["detached"] === true
    ? Effect.succeed<DetachedChild>({ threadId: payload["threadId"] as ThreadId })
    : awaitEnd(running, use, undefined)
}

const ask = (running: Running, use: ChildUse) =>
  Effect.gen(function* () {
    const plan = yield* planOf(running, use)
    const refusal = yield* refusalOf(running)
    if (refusal !== undefined) return yield* refuse(running, use.name, refusal)
    if (!isDetached(use)) return yield* awaitEnd(running, use, plan)
    yield* requestDetached(running, plan)
    return { threadId: plan.threadId } satisfies DetachedChild
  })

/** The child, as `Run` offers it. */
export const child = (
  running: Running,
  use: ChildUse,
): Effect.Effect<unknown, ChildFailed | ChildLimitExceeded> =>
  Effect.andThen(
    takeName(running, use.name),
    Effect.flatMap(recall(running, use.name), (recorded) =>
      recorded === undefined ? ask(running, use) : replay(running, use, recorded),
    ),
  )
