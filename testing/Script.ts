/**
 * Scripts: what a run of an agent does, as plain data that a seed draws. The agents of the simulation do
 * nothing but follow the script in their input: they work, wait for people, for time and for each other, take inputs,
 * have children and send messages.
 */
import { Schema } from "effect"

/** How a body behaves once it has started. */
const Behaviour = Schema.Struct({
  /** How long it works before it ends. */
  takesMillis: Schema.Number,
  /** How often it fails before it does what `ends` says, counted over all its executions. */
  failures: Schema.Number,
  /** `kills`: it takes its object with it, in the turn it starts in, until the world has healed. */
  ends: Schema.Literals(["well", "refused", "breaks", "dies", "hangs", "kills"]),
})
export type Behaviour = typeof Behaviour.Type

const Step = Schema.TaggedStruct("Step", {
  name: Schema.String,
  behaviour: Behaviour,
  retries: Schema.Number,
  retryMillis: Schema.Number,
  timeoutMillis: Schema.Number,
})

const Call = Schema.TaggedStruct("Call", {
  name: Schema.String,
  tool: Schema.Literals(["look", "mark", "pay", "wire"]),
  behaviour: Behaviour,
  /** When the provider carries it out, after the request left; never without it. */
  landsMillis: Schema.optionalKey(Schema.Number),
})

const Small = Schema.TaggedStruct("Small", {
  name: Schema.String,
  what: Schema.Literals(["update", "read", "progress", "draw", "now", "emit"]),
})

/** Time that is spent in memory alone. */
const Work = Schema.TaggedStruct("Work", { millis: Schema.Number, uninterruptible: Schema.Boolean })

/** How an operation is called in its run. */
const name = Schema.String

/** Asks people. Without `expiresMillis` as long as it takes. */
const Approval = Schema.TaggedStruct("Approval", {
  name,
  expiresMillis: Schema.optionalKey(Schema.Number),
})

const Sleep = Schema.TaggedStruct("Sleep", { name, millis: Schema.Number })

/** Waits for a value that a client sends, or whoever was given its token. */
const Await = Schema.TaggedStruct("Await", {
  name,
  timeoutMillis: Schema.optionalKey(Schema.Number),
  callback: Schema.optionalKey(Schema.Boolean),
})

/** Takes the inputs that ask to join. */
const Take = Schema.TaggedStruct("Take", { name, max: Schema.Number })

/** Children in children, so many levels from here. */
const Deep = Schema.TaggedStruct("Deep", { name, left: Schema.Number })

/** A message to the next thread of the plan, which sends it on so often. */
const Hop = Schema.TaggedStruct("Hop", { name, left: Schema.Number })

export interface RaceOp {
  readonly _tag: "Race"
  readonly name: string
  readonly branches: ReadonlyArray<OneOp>
}

export interface ChildOp {
  readonly _tag: "Child"
  readonly name: string
  readonly agent: string
  readonly detached: boolean
  readonly script: Script
}

export interface SendOp {
  readonly _tag: "Send"
  readonly name: string
  /** A place in the plan's list of threads. */
  readonly thread: number
  readonly agent: string
  readonly joins: boolean
  readonly afterMillis?: number
  readonly script: Script
}

export type TalkOp =
  | typeof Approval.Type
  | typeof Sleep.Type
  | typeof Await.Type
  | typeof Take.Type
  | typeof Deep.Type
  | typeof Hop.Type
  | RaceOp
  | ChildOp
  | SendOp

/** Their schemas; of what holds scripts and operations again, by those. */
export const talkSchemas = (of: {
  readonly one: Schema.Codec<OneOp>
  readonly script: Schema.Codec<Script>
}) =>
  [
    Approval,
    Sleep,
    Await,
    Take,
    Deep,
    Hop,
    Schema.TaggedStruct("Race", { name, branches: Schema.Array(of.one) }),
    Schema.TaggedStruct("Child", {
      name,
      agent: Schema.String,
      detached: Schema.Boolean,
      script: of.script,
    }),
    Schema.TaggedStruct("Send", {
      name,
      thread: Schema.Number,
      agent: Schema.String,
      joins: Schema.Boolean,
      afterMillis: Schema.optionalKey(Schema.Number),
      script: of.script,
    }),
  ] as const

/** One operation, and a whole script: each holds the other. */
const One: Schema.Codec<OneOp> = Schema.Union([
  Step,
  Call,
  Small,
  Work,
  ...talkSchemas({
    one: Schema.suspend((): Schema.Codec<OneOp> => One),
    script: Schema.suspend((): Schema.Codec<Script> => Script),
  }),
])
const Parallel = Schema.TaggedStruct("Parallel", { branches: Schema.Array(One) })
const Op = Schema.Union([One, Parallel])

/** How a reconciler does this time. */
export type Reconciling = "looks" | "fails" | "hangs" | "is uncertain"

export type StepOp = typeof Step.Type
export type CallOp = typeof Call.Type
export type OneOp = StepOp | CallOp | typeof Small.Type | typeof Work.Type | TalkOp
export type Op = OneOp | typeof Parallel.Type

export type Script = {
  readonly ops: ReadonlyArray<Op>
  readonly ends: "well" | "fails" | "dies"
  /** Of what a run has sent: the run and its name for it. None of what a client has submitted. */
  readonly mark?: string
}

export const Script: Schema.Codec<Script> = Schema.Struct({
  ops: Schema.Array(Op),
  ends: Schema.Literals(["well", "fails", "dies"]),
  mark: Schema.optionalKey(Schema.String),
})

/** The promise of each tool: how long its calls may be under way. */
export const promiseMillis = { look: 5_000, mark: 8_000, pay: 10_000, wire: 60_000 } as const

const talkTags = new Set([
  "Approval",
  "Sleep",
  "Await",
  "Take",
  "Deep",
  "Hop",
  "Race",
  "Child",
  "Send",
])

export const isTalk = (op: OneOp): op is TalkOp => talkTags.has(op._tag)
