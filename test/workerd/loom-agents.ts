/**
 * The agents of the loom, one for each way a run can go. How often a body started, and which gates
 * are open, is kept in this module's memory: it is known across the deaths of objects.
 */
import { env } from "cloudflare:workers"
import { Effect, Option, Schema } from "effect"
import { Agent, ThreadId } from "../../heddle.ts"
import { type Seen, sentBy, Token } from "../unit/loom/Hops.ts"
import { countIn } from "./loom-control.ts"

/** How often each body has started: `owner/thread#sequence step`. */
export const bodies = new Map<string, number>()

interface Gate {
  open: boolean
  readonly waiting: Array<() => void>
}

const gates = new Map<string, Gate>()

const gateOf = (name: string): Gate => {
  const found = gates.get(name)
  if (found !== undefined) return found
  const made: Gate = { open: false, waiting: [] }
  gates.set(name, made)
  return made
}

/** Opens a gate (`owner/name`); to be called inside an object that waits at it. */
export const openGate = (name: string): void => {
  const gate = gateOf(name)
  gate.open = true
  for (const pass of gate.waiting.splice(0)) pass()
}

/** Whoever waited at the gate died with its object. */
export const abandonGate = (name: string): void => void gateOf(name).waiting.splice(0)

const passing = (name: string): Effect.Effect<number> =>
  Effect.promise(async () => {
    const gate = gateOf(name)
    if (!gate.open) await new Promise<void>((resolve) => gate.waiting.push(resolve))
    return 0
  })

type Info = Agent.RunInfo

const counted = <A>(info: Info, name: string, body: Effect.Effect<A>): Effect.Effect<A> =>
  Effect.suspend(() => {
    countIn(bodies, `${info.ownerId}/${info.threadId}#${info.sequence} ${name}`)
    return body
  })

/** Does nothing at all. */
const noop = Agent.make("noop", { input: Schema.Json, output: Schema.Null }).handler(() =>
  Effect.succeed(null),
)

/** Uses everything a run can record; waits at a gate if it is given one. */
const weave = Agent.make("weave", {
  input: Schema.Struct({ value: Schema.Number, gate: Schema.optionalKey(Schema.String) }),
  output: Schema.Struct({ first: Schema.Number, second: Schema.Number, total: Schema.Number }),
  state: Schema.Number,
}).handler(
  Effect.fnUntraced(function* ({ gate, value }, run) {
    yield* run.progress("begun", { value })
    const first = yield* run.step(
      "first",
      Schema.Number,
      counted(run.info, "first", Effect.succeed(value + 1)),
    )
    if (gate !== undefined)
      yield* run.step(
        "gate",
        Schema.Number,
        counted(run.info, "gate", passing(`${run.info.ownerId}/${gate}`)),
      )
    const total = yield* run.state.update(
      "total",
      (state) => Option.getOrElse(state, () => 0) + first,
    )
    const second = yield* run.step(
      "second",
      Schema.Number,
      counted(run.info, "second", Effect.succeed(first * 2)),
    )
    return { first, second, total }
  }),
)

/** Waits for ever, outside of any step. */
const hang = Agent.make("hang", { input: Schema.Json, output: Schema.Null }).handler((_, run) =>
  counted(run.info, "hang", Effect.never),
)

/** Asks somebody, and waits for the decision. */
const ask = Agent.make("ask", { input: Schema.Json, output: Schema.Boolean }).handler((_, run) =>
  Effect.map(run.approval("ok", { summary: "Go on?" }), ({ approved }) => approved),
)

/** Takes what joins it, tells a neighbour, and has one child beside it and one that it waits for. */
const talk = Agent.make("talk", { input: Schema.Json, output: Schema.Null }).handler((_, run) =>
  Effect.gen(function* () {
    yield* run.takeInputs("more")
    yield* run.send("tell", { threadId: ThreadId.make("b"), agent: noop.agent, input: null })
    yield* run.child("apart", noop.agent, null, { detached: true })
    yield* run.child("kid", noop.agent, null)
    return null
  }),
)

/** Has as many children at once and waits for them all; gives the number of its attempts. */
const brood = Agent.make("brood", { input: Schema.Int, output: Schema.Int }).handler((count, run) =>
  Effect.as(
    Effect.forEach(
      Array.from({ length: count }, (_, index) => `kid-${index}`),
      (name) => Effect.orDie(run.child(name, noop.agent, null)),
      { concurrency: "unbounded", discard: true },
    ),
    run.info.attempt,
  ),
)

/** What the runs of a ring of threads saw, by owner: `t0`, `t1` and so on send to the next one. */
export const hopped = new Map<string, Array<Seen>>()

const Ring = Schema.Struct({ ...Token.fields, threads: Schema.Int })

/** Sends on what it was given to the next thread of its ring, as long as it has hops left. */
const Hop = Agent.make("hop", { input: Ring, output: Token })
const hop = Hop.handler(
  Effect.fnUntraced(function* ({ threads, ...token }, run) {
    const { ownerId, submissionId, threadId } = run.info
    const thread = Number(threadId.slice(1))
    const log = hopped.get(ownerId) ?? []
    hopped.set(ownerId, log)
    log.push({ ...token, thread, submissionId })
    const next = ThreadId.make(`t${(thread + 1) % threads}`)
    for (const input of sentBy(token))
      yield* run.send(`part ${input.part}`, {
        threadId: next,
        agent: Hop,
        input: { ...input, threads },
      })
    return token
  }),
)

/** Has a child that asks somebody, and does not wait for it for long. */
const leave = Agent.make("leave", { input: Schema.Json, output: Schema.String }).handler((_, run) =>
  Effect.map(
    run.race("first", {
      kid: run.child("kid", ask.agent, null),
      soon: run.sleep("soon", "50 millis"),
    }),
    ({ branch }) => branch,
  ),
)

class Declined extends Schema.TaggedError<Declined>()("Declined", { why: Schema.String }) {}

const fails = Agent.make("fails", {
  input: Schema.Json,
  output: Schema.Null,
  error: Declined,
}).handler(() => Effect.fail(new Declined({ why: "no such order" })))

const asked = Agent.tool("asked", { execution: "readonly", result: Schema.String })

/** Runs longer than a turn waits, calls a tool, has a child, and fails with what it was given. */
const spun = Agent.make("spun", {
  input: Schema.String,
  output: Schema.Null,
  error: Declined,
}).handler(
  Effect.fn("spun", { attributes: { "app.shade": "blue" } })(function* (secret, run) {
    yield* run.step("look", Schema.String, Effect.delay(Effect.succeed(secret), 60))
    yield* run.tool("ask", asked, () => Effect.succeed(secret))
    yield* run.child("kid", noop.agent, null)
    yield* Effect.ignore(
      run.step("broken", Schema.String, Effect.fail(new Declined({ why: secret }))),
    )
    return yield* Effect.fail(new Declined({ why: secret }))
  }),
  { tools: [asked] },
)

const throws = Agent.make("throws", { input: Schema.Json, output: Schema.Null }).handler(
  (): Effect.Effect<null> => {
    throw new Error("a secret of the handler")
  },
)

const dies = Agent.make("dies", { input: Schema.Json, output: Schema.Null }).handler(() =>
  Effect.die(new Error("a secret of the handler")),
)

const badOutput = Agent.make("bad-output", {
  input: Schema.Json,
  output: Schema.Struct({ count: Schema.Number }),
}).handler(() => Effect.succeed({ count: "many" } as unknown as { count: number }))

const bigStep = Agent.make("big-step", { input: Schema.Json, output: Schema.String }).handler(
  (_, run) => run.step("big", Schema.String, Effect.succeed("x".repeat(10_000))),
)

const guest = Agent.make("guest", { input: Schema.Json, output: Schema.Null }).handler(() =>
  Effect.succeed(null),
)

/** How often the bank was asked to pay: `owner/thread call`. Only the bank counts. */
export const payments = new Map<string, number>()

const paymentOf = (call: Agent.ToolCall): string => `${call.ownerId}/${call.threadId} ${call.name}`

/** The request leaves its object like any other: once what was written before it is on disk. */
const paid = (call: Agent.ToolCall) =>
  Effect.promise(() => env.LOOM_BANK.getByName("bank").pay(paymentOf(call)))

/** A provider that can be asked whether it was paid. */
const charge = Agent.tool("charge", {
  execution: "ordinary",
  result: Schema.String,
  timeout: "100 millis",
  reconcile: (call) =>
    Effect.sync(() =>
      payments.has(paymentOf(call))
        ? ({ _tag: "Completed", result: "paid" } as const)
        : ({ _tag: "NeverStarted" } as const),
    ),
})

const pay = Agent.make("pay", { input: Schema.Json, output: Schema.String }).handler(
  (_, run) => run.tool("charge", charge, paid),
  { tools: [charge] },
)

/** A provider that never answers, and that nobody can ask. */
const silent = Agent.tool("silent", {
  execution: "ordinary",
  result: Schema.String,
  timeout: "20 millis",
})

const doubt = Agent.make("doubt", { input: Schema.Json, output: Schema.String }).handler(
  (_, run) => run.tool("charge", silent, (call) => Effect.andThen(paid(call), Effect.never)),
  { tools: [silent] },
)

/** What the slow bank was asked for, and what it has carried out: `owner/thread call`. */
export const requests = new Map<string, number>()
export const carriedOut = new Map<string, number>()

/**
 * How long the slow bank takes: longer than an owner looks away from a run, so that a lost one is found before
 * the bank has done what it was asked for.
 */
export const slowMillis = 800

/** A provider that knows of a payment once it has carried it out, and says "never started" until then. */
const slowCharge = (name: string, timeoutMillis: number) =>
  Agent.tool(name, {
    execution: "ordinary",
    result: Schema.String,
    timeout: timeoutMillis,
    reconcile: (call) =>
      Effect.sync(() =>
        carriedOut.has(paymentOf(call))
          ? ({ _tag: "Completed", result: "paid" } as const)
          : ({ _tag: "NeverStarted" } as const),
      ),
  })

const patient = slowCharge("patient", slowMillis + 100)
const hasty = slowCharge("hasty", 20)

const paySlowly = Agent.make("pay-slowly", {
  input: Schema.Struct({ hasty: Schema.Boolean }),
  output: Schema.String,
}).handler(
  (input, run) =>
    run.tool("charge", input.hasty ? hasty : patient, (call) =>
      Effect.promise(() =>
        env.LOOM_BANK.getByName("slow").paySlowly(
          paymentOf(call),
          input.hasty ? 10 * slowMillis : slowMillis,
        ),
      ),
    ),
  { tools: [patient, hasty] },
)

/** The agents that every deployment of the loom has. */
export const agents = [
  noop,
  weave,
  hang,
  ask,
  talk,
  brood,
  hop,
  leave,
  fails,
  throws,
  dies,
  badOutput,
  bigStep,
  pay,
  doubt,
  paySlowly,
  spun,
] as const

/** The agent that a deployment may lack. */
export const agentsWithGuest = [...agents, guest] as const
