/**
 * The deployment that the console is tried with in a browser: examples, agents that wait where a test says, and threads that
 * can be damaged and made whole again. What a test does to it goes over `/test/…`; the rest is the product's.
 */
import { Effect, Option, Schema } from "effect"
import { ConversationLive } from "../../examples/03-conversation.ts"
import { GiveBackLive, OrderLive, ReserveLineLive } from "../../examples/04-order-saga.ts"
import { PlaceOrderLive } from "../../examples/00-order.ts"
import { RefundLive } from "../../examples/02-approval.ts"
import { RemindLive } from "../../examples/06-reminder.ts"
import { Agent, Heddle } from "../../heddle.ts"

/** What tests have opened; the objects of a local process share it. */
const open = new Set<string>()

const gate = (name: string): Effect.Effect<void> =>
  Effect.suspend(() =>
    open.has(name) ? Effect.void : Effect.andThen(Effect.sleep(20), gate(name)),
  )

/** Counts, waits at its gate, and goes on. */
const tally = Agent.make("tally", {
  input: Schema.Struct({ gate: Schema.optionalKey(Schema.String) }),
  output: Schema.Struct({ count: Schema.Number }),
  state: Schema.Number,
}).handler(
  Effect.fnUntraced(function* (input, run) {
    const count = yield* run.state.update("count", (state) => Option.getOrElse(state, () => 0) + 1)
    yield* run.step(
      "measure",
      Schema.Struct({ length: Schema.Number }),
      Effect.succeed({ length: count }),
    )
    if (input.gate !== undefined) {
      yield* run.step("work", Schema.String, Effect.as(gate(input.gate), "done"))
    }
    yield* run.progress("counted", { count })
    return { count }
  }),
)

/** Asks under a name that its caller gave. */
const ask = Agent.make("ask", {
  input: Schema.Struct({ name: Schema.String }),
  output: Schema.Null,
}).handler(
  Effect.fnUntraced(function* ({ name }, run) {
    yield* run.approval(name, { summary: "May it?" })
    return null
  }),
)

/** Gives back what it was given: whatever a stranger may have written. */
const echo = Agent.make("echo", { input: Schema.Json, output: Schema.Json }).handler(
  Effect.fnUntraced(function* (input, run) {
    yield* run.step("hear", Schema.Json, Effect.succeed(input))
    return input
  }),
)

const Charge = Agent.tool("charge", {
  result: Schema.Struct({ transaction: Schema.String }),
  execution: "ordinary",
  timeout: "100 millis",
})

/** Its provider hangs up the first time of each thread, and nobody knows whether it was paid. */
const charge = Agent.make("charge", {
  input: Schema.Struct({ cents: Schema.Int }),
  output: Schema.Struct({ transaction: Schema.String }),
}).handler(
  ({ cents }, run) =>
    run.tool("pay", Charge, () => Effect.die(new Error("the connection was lost")), {
      request: { cents },
    }),
  { tools: [Charge] },
)

const heddle = Heddle.make({
  agents: [
    tally,
    echo,
    ask,
    charge,
    PlaceOrderLive,
    RefundLive,
    ConversationLive,
    OrderLive,
    ReserveLineLive,
    GiveBackLive,
    RemindLive,
  ],
  search: { outcomes: true },
  limits: {
    watchMillis: 500,
    watchMaxMillis: 20_000,
    coverMillis: 500,
    clockAllowanceMillis: 100,
    clockSkewMillis: 0,
    oldInstanceMillis: 100,
    lostBackoffMillis: 50,
    passRetryMaxMillis: 200,
    unfinishedPassesBeforeOneSlot: 100,
  },
})

interface Row {
  readonly payload: string
}

export class Owner extends heddle.OwnerObject {}

export class Thread extends heddle.ThreadActor {
  /** Makes its first record unreadable and lets the object die; gives what stood there. */
  damage(): string {
    const { sql } = this.ctx.storage
    const { payload } = sql
      .exec<Row & Record<string, string>>("SELECT payload FROM journal WHERE name = 'measure'")
      .one()
    sql.exec(`UPDATE journal SET payload = '{"result":' WHERE name = 'measure'`)
    return payload
  }

  heal(payload: string): void {
    this.ctx.storage.sql.exec("UPDATE journal SET payload = ? WHERE name = 'measure'", payload)
  }

  die(): void {
    this.ctx.abort("the test has the object die here")
  }
}

export class Registry extends heddle.OwnerRegistry {}

interface Env {
  readonly THREADS: {
    readonly getByName: (name: string) => {
      readonly damage: () => Promise<string>
      readonly heal: (payload: string) => Promise<void>
      readonly die: () => Promise<void>
    }
  }
}

/** What stood in the threads that were damaged. */
const damaged = new Map<string, string>()

const control = async (url: URL, env: Env): Promise<Response> => {
  const name = url.searchParams.get("name") ?? ""
  switch (url.pathname) {
    case "/test/open":
      open.add(name)
      break
    case "/test/damage":
      damaged.set(name, await env.THREADS.getByName(name).damage())
      await env.THREADS.getByName(name)
        .die()
        .catch(() => undefined)
      break
    case "/test/heal":
      await env.THREADS.getByName(name).heal(damaged.get(name) ?? "")
      break
    default:
      return new Response(null, { status: 404 })
  }
  return new Response(null, { status: 204 })
}

export default {
  fetch: (request: Request, env: Env, ctx: ExecutionContext): Promise<Response> => {
    const url = new URL(request.url)
    return url.pathname.startsWith("/test/") ? control(url, env) : heddle.fetch(request, env, ctx)
  },
  scheduled: heddle.scheduled,
}
