/**
 * A Worker whose owner fails at every alarm while `OWNER_ALARM` is `fails`: what a broken deploy looks
 * like to the platform. Its log tells each construction of an owner, and each failed alarm.
 *
 * A request of `/scheduled` has the platform deliver a cron event to this Worker's `scheduled`.
 */
import { DurableObject } from "cloudflare:workers"
import { Effect, Schema } from "effect"
import type { WireExit, WireMessage, WireSink } from "../../contracts/transport/index.ts"
import { Agent, Heddle } from "../../heddle.ts"

/** Takes as long as its input says; the second step tells that it was not cut short. */
const errand = Agent.make("errand", {
  input: Schema.Struct({ workMillis: Schema.Number }),
  output: Schema.Struct({ workMillis: Schema.Number }),
}).handler(
  Effect.fnUntraced(function* ({ workMillis }, run) {
    yield* run.step("begin", Schema.Null, Effect.succeed(null))
    yield* run.step("work", Schema.Null, Effect.as(Effect.sleep(workMillis), null))
    return { workMillis }
  }),
)

const heddle = Heddle.make({
  agents: [errand],
  limits: {
    // An owner is due for a look at once, not within the hour.
    lookOwingMillis: 1_000,
    lookIdleMillis: 1_000,
    lookRetryMillis: 1_000,
    // The alarm of a run under way.
    watchMillis: 2_000,
  },
})

const tell = (line: string): void => Effect.runSync(Effect.logInfo(line))

interface Environment {
  readonly OWNER_ALARM?: string
}

export class Owner extends DurableObject<Environment> {
  readonly #inner = new heddle.OwnerObject(this.ctx, this.env)

  constructor(context: DurableObjectState, environment: Environment) {
    super(context, environment)
    tell("owner: constructed")
  }

  call(message: WireMessage, sink?: WireSink): Promise<WireExit> {
    return this.#inner.call(message, sink)
  }

  override async alarm(): Promise<void> {
    if (this.env.OWNER_ALARM === "fails") {
      tell("owner: its alarm fails")
      throw new Error("this deploy is broken")
    }
    await this.#inner.alarm()
  }
}

export class Thread extends heddle.ThreadActor {}
export class Registry extends heddle.OwnerRegistry {}

/** What the platform lends a Worker to reach itself with. */
interface Loopback {
  readonly exports: {
    readonly default: {
      readonly scheduled: (event: {
        readonly scheduledTime: Date
        readonly cron: string
      }) => Promise<{ readonly outcome: string }>
    }
  }
}

export default {
  scheduled: heddle.scheduled,
  async fetch(request: Request, environment: unknown, context: ExecutionContext & Loopback) {
    if (new URL(request.url).pathname !== "/scheduled") {
      return heddle.fetch(request, environment, context)
    }
    const event = { scheduledTime: new Date(), cron: "7 * * * *" }
    return Response.json(await context.exports.default.scheduled(event))
  },
}
