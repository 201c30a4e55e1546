/** A client of the simulation: a runner with the product's own typed clients; and what its operations have to do with. */
import { Context, Effect, type Exit, Scope } from "effect"
import { type Caller, callerHeaders } from "../contracts/Authorization.ts"
import type { ThreadId } from "../contracts/Identifiers.ts"
import { OwnerRpc } from "../contracts/OwnerRpc.ts"
import { ThreadRpc } from "../contracts/ThreadRpc.ts"
import type { WireTarget } from "../contracts/transport/Wire.ts"
import { makeWireClient } from "../contracts/transport/WireClient.ts"
import type { Faults } from "./Faults.ts"
import type { Outside } from "./Outside.ts"
import type { Address, Plan } from "./Plan.ts"
import type { Queue, Runner } from "./Queue.ts"
import type { Talk } from "./Talk.ts"
import type { Told } from "./Told.ts"

export interface ClientOptions {
  readonly principal: string
  readonly runner: Runner
  readonly context: Context.Context<never>
  readonly owner: (ownerId: string) => WireTarget
  readonly thread: (ownerId: string, threadId: string) => WireTarget
  readonly requestId: () => string
}

const build = (options: ClientOptions) =>
  Effect.gen(function* () {
    const caller = { _tag: "Principal", principal: options.principal } as Caller
    const headers = callerHeaders(caller)
    const shared = { headers, requestId: options.requestId }
    return {
      owner: yield* makeWireClient(OwnerRpc, {
        ...shared,
        target: ({ ownerId }: { readonly ownerId: string }) => options.owner(ownerId),
      }),
      thread: yield* makeWireClient(ThreadRpc, {
        ...shared,
        target: ({ ownerId, threadId }: Address) => options.thread(ownerId, threadId),
      }),
    }
  })

export type Rpcs = Effect.Success<ReturnType<typeof build>>

export interface Client {
  readonly rpcs: Rpcs
  readonly runner: Runner
  /** Runs something in this client, and tells its end. */
  readonly run: <A, E>(effect: Effect.Effect<A, E>, then?: (exit: Exit.Exit<A, E>) => void) => void
}

export const makeClient = (options: ClientOptions): Client => {
  const run = Effect.runForkWith(options.context)
  return {
    runner: options.runner,
    rpcs: Effect.runSync(
      Effect.provideContext(
        build(options),
        Context.add(options.context, Scope.Scope, Scope.makeUnsafe()),
      ),
    ),
    run: (effect, then) => {
      const fiber = run(effect)
      if (then !== undefined) fiber.addObserver(then)
    },
  }
}

/** What operations have to do with. */
export interface Doing {
  readonly plan: Plan
  readonly queue: Queue
  readonly faults: Faults
  readonly told: Told
  readonly outside: Outside
  readonly talk: Talk
  /** Somebody who has tokens and nothing else; nobody where none are given away. */
  readonly webhook: Client | undefined
  /** All threads of an owner that there are: those of the plan first, then children. */
  readonly threadsOf: (ownerId: string) => ReadonlyArray<ThreadId>
  /** The thread at a place: of the plan, or a child's; none where it has not come to be. */
  readonly threadAt: (place: number) => Address | undefined
  readonly violate: (invariant: string, detail: string) => void
  readonly cron: () => Effect.Effect<unknown, unknown>
}
