/**
 * How an agent of the simulation waits and talks, as its script says, and tells the outside world of it.
 *
 * - F1 What it sends carries a mark, by which the outside world knows it again.
 * - F2 What is asked for is told before, what came of it after: what lies between is one block of the product.
 * - F4 What waits for a time says so before, and when it is over.
 * - F3 A token counts from where it left the object: before that nobody has it.
 */
import { Cause, Effect, Exit, Schema } from "effect"
import type { AgentId, OwnerId, ThreadId } from "../contracts/Identifiers.ts"
import type { AnyAgent, Run } from "../thread-actors/Agent.ts"
import { type Incarnation, leaveObject } from "./Incarnation.ts"
import type { ChildOp, OneOp, RaceOp, Script, SendOp, TalkOp } from "./Script.ts"
import { type Asked, markOf, type Talk } from "./Talk.ts"
import type { Times } from "./Times.ts"

/** What following needs of the world. */
export interface Talking {
  readonly talk: Talk
  readonly times: Times
  readonly incarnation: Incarnation
  /** The threads of the plan. */
  readonly threads: ReadonlyArray<{ readonly ownerId: string; readonly threadId: string }>
  readonly agents: ReadonlyMap<string, AnyAgent>
}

type Running = Run<number, Script>
type Given<R> = Effect.Effect<unknown, unknown, R>
/** How another operation is followed, and what it gives. */
type Follow<R> = (op: OneOp) => Given<R>

const nameOfThread = ({ ownerId, threadId }: { ownerId: string; threadId: string }): string =>
  `${ownerId}/${threadId}`

const asks = (
  { talk }: Talking,
  { info }: Running,
  name: string,
  what: Pick<Asked, "kind" | "to" | "isDeferred" | "joins" | "deferredTo">,
): string => {
  const mark = markOf(info.submissionId, name) // F1
  const { submissionId } = info
  // At once: an instance that dies on the way may have asked. // F2
  talk.ask({ ...what, mark, submissionId, name, from: nameOfThread(info) })
  return mark
}

const send = <R>(talking: Talking, run: Running, op: SendOp): Given<R> =>
  Effect.gen(function* () {
    const target = talking.threads[op.thread % talking.threads.length]
    if (target === undefined) return "nobody"
    const mark = asks(talking, run, op.name, {
      kind: "message",
      to: nameOfThread(target),
      isDeferred: op.afterMillis !== undefined,
      joins: op.joins,
      ...(op.afterMillis === undefined ? {} : { deferredTo: run.info.acceptedAt + op.afterMillis }),
    })
    const isOwn = target.ownerId === run.info.ownerId
    const id = yield* run.send(op.name, {
      ...(isOwn ? {} : { ownerId: target.ownerId as OwnerId }),
      threadId: target.threadId as ThreadId,
      agent: { name: op.agent as AgentId },
      input: { ...op.script, mark },
      ...(op.joins ? { delivery: "join" as const } : {}),
      // Of the run, not of the clock: entered again, it asks for the same.
      ...(op.afterMillis === undefined ? {} : { notBefore: run.info.acceptedAt + op.afterMillis }),
    })
    leaveObject(talking.incarnation, () => talking.talk.told(mark, id)) // F2
    return id
  })

const child = <R>(talking: Talking, run: Running, op: ChildOp): Given<R> => {
  const agent = talking.agents.get(op.agent)
  if (agent === undefined) return Effect.succeed("nobody")
  const kind = op.detached ? "detached" : "child"
  const mark = asks(talking, run, op.name, { kind, to: undefined, isDeferred: false, joins: false })
  const input = { ...op.script, mark }
  return op.detached
    ? Effect.as(run.child(op.name, agent, input, { detached: true }), 0)
    : run.child(op.name, agent, input)
}

const race = <R>(run: Running, op: RaceOp, follow: Follow<R>): Given<R> => {
  const branches = Object.fromEntries(op.branches.map((one, index) => [`b${index}`, follow(one)]))
  return Effect.map(run.race(op.name, branches), ({ branch, value }) => ({ branch, value }))
}

const well = (...ops: ReadonlyArray<OneOp>): Script => ({ ops, ends: "well" })

/** The next thread of the plan; of a child, the first. */
const nextThread = ({ threads }: Talking, { info }: Running): number =>
  threads.findIndex((one) => nameOfThread(one) === nameOfThread(info)) + 1

/** Tells somebody outside the token of a wait. // F3 */
const givesToken = ({ incarnation, talk }: Talking, run: Running, name: string) =>
  Effect.map(run.callback(name), (token) => {
    leaveObject(incarnation, () => talk.gives(markOf(run.info.submissionId, name), token))
  })

/** A wait that a time ends: at once, if it is nothing but that; else where this is what came of it. // F4 */
const timed = <A, E, R>(
  { times }: Talking,
  { info }: Running,
  { millis, name }: { readonly name: string; readonly millis: number | undefined },
  wait: Effect.Effect<A, E, R>,
  isOver: (exit: Exit.Exit<A, E>) => boolean,
): Effect.Effect<A, E, R> => {
  if (millis === undefined) return wait
  const { submissionId } = info
  const mark = markOf(submissionId, name)
  return Effect.suspend(() => {
    times.asks(mark, { submissionId, name, thread: nameOfThread(info), millis })
    return Effect.onExit(wait, (exit) =>
      Effect.sync(() => {
        if (Exit.isSuccess(exit) || isOver(exit)) times.ends(mark, isOver(exit))
      }),
    )
  })
}

const isTimedOut = (exit: Exit.Exit<unknown, unknown>): boolean => {
  if (Exit.isSuccess(exit)) return false
  const failed = exit.cause.reasons.find(Cause.isFailReason)
  return (failed?.error as { readonly _tag?: string } | undefined)?._tag === "WaitTimedOut"
}

const awaits = (run: Running, op: Extract<TalkOp, { readonly _tag: "Await" }>) =>
  op.timeoutMillis === undefined
    ? run.waitFor(op.name, Schema.Number)
    : run.waitFor(op.name, Schema.Number, { timeout: op.timeoutMillis })

const waits = <R>(talking: Talking, run: Running, op: TalkOp): Given<R> | undefined => {
  switch (op._tag) {
    case "Approval":
      return timed(
        talking,
        run,
        { name: op.name, millis: op.expiresMillis },
        run.approval(op.name, {
          summary: `whether ${op.name}`,
          ...(op.expiresMillis === undefined ? {} : { expires: op.expiresMillis }),
        }),
        (exit) => Exit.isSuccess(exit) && exit.value.expired,
      )
    case "Sleep":
      return timed(talking, run, op, Effect.as(run.sleep(op.name, op.millis), 0), Exit.isSuccess)
    case "Await": {
      const given = timed(
        talking,
        run,
        { name: op.name, millis: op.timeoutMillis },
        awaits(run, op),
        isTimedOut,
      )
      return op.callback === true ? Effect.andThen(givesToken(talking, run, op.name), given) : given
    }
    default:
      return undefined
  }
}

const take = <R>(
  { incarnation, talk }: Talking,
  run: Running,
  op: TalkOp & { _tag: "Take" },
): Given<R> =>
  Effect.map(run.takeInputs(op.name, { max: op.max }), (inputs) => {
    const ids = inputs.map(({ submissionId }) => submissionId as string)
    leaveObject(incarnation, () => {
      for (const [index, id] of ids.entries()) {
        talk.takes(run.info.submissionId, id)
        const mark = inputs[index]?.input.mark
        if (mark !== undefined) talk.enters(mark, id, nameOfThread(run.info))
      }
    })
    return ids
  })

/** What an operation that waits or talks gives. */
export const followTalk = <R>(
  talking: Talking,
  run: Running,
  op: TalkOp,
  follow: Follow<R>,
): Given<R> => {
  switch (op._tag) {
    case "Take":
      return take(talking, run, op)
    case "Race":
      return race(run, op, follow)
    case "Child":
      return child(talking, run, op)
    case "Send":
      return send(talking, run, op)
    case "Deep": {
      const script = op.left > 0 ? well({ ...op, left: op.left - 1 }) : well()
      return child(talking, run, { ...op, _tag: "Child", agent: "first", detached: false, script })
    }
    case "Hop": {
      const script = op.left > 0 ? well({ ...op, left: op.left - 1 }) : well()
      const thread = nextThread(talking, run)
      return send(talking, run, {
        ...op,
        _tag: "Send",
        agent: "first",
        joins: false,
        thread,
        script,
      })
    }
    default:
      return waits(talking, run, op) ?? Effect.succeed(0)
  }
}
