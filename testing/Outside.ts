/**
 * The outside world: providers that agents call, and the log of what really happened, by which a run is
 * judged. Nothing here reads what the objects have recorded.
 *
 * - O1 A body is logged where it starts, with who it is; what it sends counts from where it left the object.
 * - O2 A request is carried out when its script says: at once, later within its tool's promise, or never,
 *   whether or not anybody still waits for the answer.
 * - O4 A provider knows a call again by its key.
 * - O3 A reconciler and an operator look at what was really carried out, and say so.
 */
import { Data, Effect } from "effect"
import { type Incarnation, leaveObject } from "./Incarnation.ts"
import type { Queue } from "./Queue.ts"
import { type Behaviour, type CallOp, promiseMillis } from "./Script.ts"

/** Who runs a body. */
export interface BodyIdentity {
  readonly submissionId: string
  readonly name: string
  readonly attempt: number
  readonly kind: "step" | "look" | "mark" | "pay" | "wire"
}

export interface Started extends BodyIdentity {
  readonly incarnation: Incarnation
  readonly at: number
  /** Its place among all starts of the run. */
  readonly order: number
}

/** A provider refused for certain. */
export class Refused extends Data.TaggedError("Refused")<{ readonly n: number }> {}
/** Something broke on the way; nothing is certain. */
export class Broken extends Data.TaggedError("Broken")<{ readonly n: number }> {}

/** Leave to start an ordinary call once more, by a reconciler or an operator. */
interface Leave {
  readonly order: number
}

/** One ordinary call: what left for it, what was carried out, and what was said about it. */
export interface OrdinaryCall {
  readonly key: string
  readonly name: string
  readonly submissionId: string
  /** Places of the starts that left the object. */
  readonly left: Array<number>
  /** What was carried out, by the result it gave. */
  readonly done: Array<number>
  readonly leaves: Array<Leave>
}

/** What handlers were given for a name of a run, as text. */
export type Seen = Map<string, string>

export interface Outside {
  readonly started: ReadonlyArray<Started>
  readonly calls: ReadonlyMap<string, OrdinaryCall>
  readonly ofSubmission: ReadonlyMap<string, ReadonlySet<OrdinaryCall>>
  /** Bodies of ordinary calls that have started and not ended; of objects that died also for ever. */
  readonly underWay: ReadonlySet<Started>
  readonly seen: ReadonlyMap<string, Seen>
  /** A body starts. // O1 */
  readonly start: (incarnation: Incarnation, body: BodyIdentity) => void
  /** What a body does: works, and comes to its end. */
  readonly work: (
    body: BodyIdentity,
    behaviour: Behaviour,
  ) => Effect.Effect<number, Refused | Broken>
  /** A call is made under a key: one in every attempt, and no other call's. // O4 */
  readonly hasKey: (body: BodyIdentity, key: string) => void
  /** A call of a provider, out of an object. */
  readonly call: (
    incarnation: Incarnation,
    body: BodyIdentity,
    call: CallOp,
  ) => Effect.Effect<number, Refused | Broken>
  /** What became of an ordinary call: its result, or nothing. // O3 */
  readonly lookUp: (submissionId: string, name: string) => number | undefined
  /** Somebody gives leave to make an ordinary call again. */
  readonly giveLeave: (submissionId: string, name: string) => void
  /** A handler begins to work for so long, outside of every body. */
  readonly works: (millis: number) => void
  /** How long handlers were going to work so, all together. */
  readonly workedMillis: () => number
  /** A change of a thread's state is computed, by the run and its name for it. */
  readonly changes: (submissionId: string, name: string) => void
  readonly changed: ReadonlyMap<string, ReadonlySet<string>>
  /** A handler was given a value for a name. */
  readonly sees: (submissionId: string, name: string, value: string) => void
}

export interface OutsideOptions {
  readonly queue: Queue
  /** From then on every body and every provider does well. */
  readonly isHealed: () => boolean
  readonly latency: () => number
  /** Told of each body before it starts. */
  readonly onStart: (started: Started) => void
  /** Told of each start of an ordinary call that has left its object. */
  readonly onLeft: (call: OrdinaryCall) => void
  readonly onDone: (call: OrdinaryCall) => void
  /** Told when a handler is given another value for a name than before. */
  readonly onDiffers: (submissionId: string, name: string, values: string) => void
  /** Told of a call whose key is not its own. */
  readonly onKey: (what: string) => void
}

/** A call as it goes once the world has healed. */
const healthy = (op: CallOp): CallOp => ({
  ...op,
  behaviour: { ...op.behaviour, ends: "well" },
  landsMillis: 0,
})

const keyOf = (submissionId: string, name: string): string => `${submissionId} ${name}`

export const makeOutside = (options: OutsideOptions): Outside => {
  const { isHealed, latency, queue } = options
  const started: Array<Started> = []
  const calls = new Map<string, OrdinaryCall>()
  const ofSubmission = new Map<string, Set<OrdinaryCall>>()
  const underWay = new Set<Started>()
  const seen = new Map<string, Seen>()
  const executions = new Map<string, number>()
  const keys = new Map<string, string>()
  const callsByKey = new Map<string, string>()
  const changed = new Map<string, Set<string>>()
  let results = 0
  let order = 0
  let workedMillis = 0

  const callOf = (submissionId: string, name: string): OrdinaryCall => {
    const key = keyOf(submissionId, name)
    const found = calls.get(key)
    if (found !== undefined) return found
    const made: OrdinaryCall = { key, name, submissionId, left: [], done: [], leaves: [] }
    calls.set(key, made)
    const others = ofSubmission.get(submissionId) ?? new Set()
    ofSubmission.set(submissionId, others.add(made))
    return made
  }

  const carryOut = (call: OrdinaryCall): number => {
    const result = ++results
    call.done.push(result) // O2
    queue.trace.note("carried out", call.key)
    options.onDone(call)
    return result
  }

  const end = (
    body: BodyIdentity,
    behaviour: Behaviour,
    value: () => number,
  ): Effect.Effect<number, Refused | Broken> =>
    Effect.suspend((): Effect.Effect<number, Refused | Broken> => {
      const key = keyOf(body.submissionId, body.name)
      const execution = (executions.get(key) ?? 0) + 1
      executions.set(key, execution)
      const n = ++results
      if (isHealed()) return Effect.sync(value)
      if (execution <= behaviour.failures) return Effect.fail(new Broken({ n }))
      switch (behaviour.ends) {
        case "well":
          return Effect.sync(value)
        case "refused":
          return Effect.fail(new Refused({ n }))
        case "breaks":
          return Effect.fail(new Broken({ n }))
        case "dies":
          return Effect.die(new Error("the body has a mistake"))
        case "hangs":
        case "kills":
          return Effect.never
      }
    })

  const work = (body: BodyIdentity, behaviour: Behaviour, value: () => number) =>
    Effect.andThen(Effect.sleep(behaviour.takesMillis), end(body, behaviour, value))

  /** A request on its way: it leaves, is carried out or not, and is answered. */
  const ordinary = (incarnation: Incarnation, body: BodyIdentity, op: CallOp) => {
    const { behaviour, landsMillis, tool } = isHealed() ? healthy(op) : op
    const call = callOf(body.submissionId, body.name)
    const one: Started = { ...body, incarnation, at: queue.now(), order }
    underWay.add(one)
    const isRefused = behaviour.ends === "refused"
    let result: number | undefined
    const by = queue.now() + promiseMillis[tool]
    return Effect.andThen(
      Effect.callback<void>((resume) => {
        leaveObject(incarnation, () => {
          call.left.push(order++) // O1
          options.onLeft(call)
          const at = Math.min(queue.now() + latency() + (landsMillis ?? 0), by)
          if (landsMillis !== undefined && !isRefused)
            queue.at(at, undefined, "carry out", () => {
              result = carryOut(call) // O2
            })
          const waits = behaviour.ends === "well" && landsMillis !== undefined
          queue.at((waits ? at : queue.now()) + latency() + 1, incarnation.runner, "answer", () =>
            resume(Effect.void),
          )
        })
      }),
      // A provider that never carried it out has nothing to answer with.
      Effect.suspend(() => {
        const known = result
        const late = behaviour.ends === "well" && known === undefined
        return work(body, late ? { ...behaviour, ends: "hangs" } : behaviour, () => known ?? 0)
      }),
    ).pipe(Effect.ensuring(Effect.sync(() => underWay.delete(one))))
  }

  return {
    started,
    calls,
    ofSubmission,
    underWay,
    seen,
    start: (incarnation, body) => {
      const one: Started = { ...body, incarnation, at: queue.now(), order: order++ }
      options.onStart(one)
      started.push(one)
      queue.trace.note("body", keyOf(body.submissionId, body.name), body.attempt)
    },
    work: (body, behaviour) => work(body, behaviour, () => ++results),
    hasKey: (body, key) => {
      const call = keyOf(body.submissionId, body.name)
      const [before, other] = [keys.get(call) ?? key, callsByKey.get(key) ?? call]
      keys.set(call, before)
      callsByKey.set(key, other)
      if (before !== key) options.onKey(`${call} was made under ${before}, then under ${key}`)
      if (other !== call) options.onKey(`${call} and ${other} have one key`)
    },
    call: (incarnation, body, call) =>
      call.tool === "pay" || call.tool === "wire"
        ? ordinary(incarnation, body, call)
        : Effect.andThen(
            Effect.callback<void>((resume) => {
              leaveObject(incarnation, () => {
                queue.at(queue.now() + 2 * latency(), incarnation.runner, "answer", () =>
                  resume(Effect.void),
                )
              })
            }),
            work(body, call.behaviour, () => ++results),
          ),
    lookUp: (submissionId, name) => calls.get(keyOf(submissionId, name))?.done[0],
    giveLeave: (submissionId, name) => {
      callOf(submissionId, name).leaves.push({ order: order++ })
    },
    works: (millis) => {
      workedMillis += millis
    },
    workedMillis: () => workedMillis,
    changed,
    changes: (submissionId, name) => {
      changed.set(submissionId, (changed.get(submissionId) ?? new Set()).add(name))
    },
    sees: (submissionId, name, value) => {
      const values: Seen = seen.get(submissionId) ?? new Map()
      seen.set(submissionId, values)
      const before = values.get(name)
      if (before === undefined) values.set(name, value)
      else if (before !== value) options.onDiffers(submissionId, name, `${before} then ${value}`)
    },
  }
}
