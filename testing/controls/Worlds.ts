/**
 * Small worlds, written by hand: nothing in them is drawn, and messages, flushes and clocks are as quick and exact
 * as can be, so that what happens depends on what is written and not on how a seed is read.
 */
import type { OwnerId, ThreadId } from "../../contracts/Identifiers.ts"
import type { Operation, Plan } from "../Plan.ts"
import type { Behaviour, CallOp, OneOp, Op, Script, StepOp, TalkOp } from "../Script.ts"
import type { Strike } from "../Strikes.ts"

/** `o1` has the place 0 among the objects, its threads `t0`, `t1` and `t2` have the places 1 to 3. */
export const [owner, t0, t1, t2] = [0, 1, 2, 3] as const

const quick: Plan = {
  seed: 1,
  pace: { preempts: 0, shuffles: 0, bursts: 0.5, yields: 0, lags: 0 },
  rates: {},
  latencyMillis: 0,
  strayMillis: 1,
  alarmLagMillis: 1,
  flushMillis: 0,
  skewMillis: 0,
  owners: ["o1" as OwnerId],
  threads: ["t0", "t1", "t2"].map((name) => ({
    ownerId: "o1" as OwnerId,
    threadId: name as ThreadId,
  })),
  clients: 1,
  operations: [],
  faults: [],
  reconciling: "looks",
  healsAt: 300_000,
}

/** A world in which this happens, and the strikes come as they are told. */
export const world = (given: Partial<Plan> & Pick<Plan, "operations">): Plan => ({
  ...quick,
  ...given,
})

type Submitted = Partial<
  Omit<Extract<Operation, { readonly _tag: "Submit" }>, "_tag" | "script" | "at">
>

/** A script is submitted to a thread, which is `t0` by default. */
export const submits = (
  at: number,
  key: string,
  ops: ReadonlyArray<Op>,
  given: Submitted & { readonly ends?: Script["ends"] } = {},
): Operation => {
  const { ends = "well", ...rest } = given
  const script: Script = { ops, ends }
  const usual = { client: 0, thread: 0, agent: "first", afterMillis: undefined, waits: false }
  return { _tag: "Submit", at, key, script, ...usual, ...rest }
}

/** Somebody asks for something about a submission. */
export const asks = (at: number, what: "Abort" | "Retry", key: string): Operation => ({
  _tag: what,
  at,
  client: 0,
  key,
})

/** Somebody has the work of a submission done again. */
export const asksAgain = (at: number, of: string, key: string): Operation => ({
  _tag: "Resubmit",
  at,
  client: 0,
  of,
  key,
  waits: false,
  patient: false,
})

/** Somebody does something to `t0`. */
export const does = (at: number, what: "Pause" | "Resume" | "Wake" | "Resolve"): Operation => ({
  _tag: what,
  at,
  client: 0,
  thread: 0,
})

const behaviour = (given: Partial<Behaviour>): Behaviour => ({
  takesMillis: 0,
  failures: 0,
  ends: "well",
  ...given,
})

export const step = (
  name: string,
  given: Partial<Behaviour> & { readonly retries?: number } = {},
): StepOp => {
  const { retries = 0, ...rest } = given
  const times = { retries, retryMillis: 3_000, timeoutMillis: 300_000 }
  return { _tag: "Step", name, behaviour: behaviour(rest), ...times }
}

/** `landsMillis`: when the provider carries it out; never without it. */
export const call = (
  name: string,
  tool: CallOp["tool"],
  given: Partial<Behaviour> & { readonly landsMillis?: number } = {},
): CallOp => {
  const { landsMillis, ...rest } = given
  const lands = landsMillis === undefined ? {} : { landsMillis }
  return { _tag: "Call", name, tool, behaviour: behaviour(rest), ...lands }
}

/** Counts one more in the state of its thread. */
export const counts = (name: string): OneOp => ({ _tag: "Small", name, what: "update" })

export const works = (millis: number, uninterruptible = false): OneOp => ({
  _tag: "Work",
  millis,
  uninterruptible,
})

export const atOnce = (...branches: ReadonlyArray<OneOp>): Op => ({ _tag: "Parallel", branches })

type RequestStrike = Extract<Strike, { readonly _tag: "OfRequest" }>
type PointStrike = Extract<Strike, { readonly _tag: "AtPoint" }>

/** What becomes of the nth request of a kind to an object. */
export const ofRequest = (
  object: number,
  tag: string,
  nth: number,
  struck: RequestStrike["does"],
): Strike => ({ _tag: "OfRequest", object, tag, nth, does: struck })

/** What an object does when it reaches a failpoint for the nth time. */
export const atPoint = (
  object: number,
  point: string,
  nth: number,
  struck: PointStrike["does"],
): Strike => ({ _tag: "AtPoint", object, point, nth, does: struck })

export const approval = (name: string): TalkOp => ({ _tag: "Approval", name })

/** A child that does this, and is waited for. */
export const child = (name: string, ops: ReadonlyArray<Op>): TalkOp => ({
  _tag: "Child",
  name,
  agent: "first",
  detached: false,
  script: { ops, ends: "well" },
})

/** A message to a thread of the plan, whose run does nothing else. */
export const sends = (name: string, thread: number): TalkOp => ({
  _tag: "Send",
  name,
  thread,
  agent: "first",
  joins: false,
  script: { ops: [], ends: "well" },
})

/** Waits as long as it takes for somebody's value. */
export const awaits = (name: string): TalkOp => ({ _tag: "Await", name })

/** Somebody sends a value to a run that waits for it. */
export const signals = (at: number, key: string, name: string): Operation => ({
  _tag: "Signal",
  at,
  client: 0,
  key,
  name,
  value: 7,
})

/** `t0` gives itself an input every twenty seconds. */
export const ticks: Operation = {
  _tag: "Schedule",
  at: 0,
  client: 0,
  thread: 0,
  name: "tick",
  everySeconds: 20,
  script: { ops: [], ends: "well" },
}
