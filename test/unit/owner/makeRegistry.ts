/** The real owner registry on `node:sqlite`, with a clock and an availability that the test sets. */
import { Effect, Scope } from "effect"
import { type Caller, callerHeaders } from "../../../contracts/Authorization.ts"
import { OwnerId, Principal } from "../../../contracts/Identifiers.ts"
import { type Limits, makeLimits } from "../../../contracts/Limits.ts"
import { RegistryRpc } from "../../../contracts/RegistryRpc.ts"
import { inMemoryTarget } from "../../../contracts/transport/InMemory.ts"
import type { WireTarget } from "../../../contracts/transport/Wire.ts"
import { makeWireClient } from "../../../contracts/transport/WireClient.ts"
import { makeRegistryRuntime, type RegistryOptions } from "../../../owner-object/RegistryRuntime.ts"
import { makeNodeHost, openNodeStorage } from "../../../platform/NodeStorage.ts"

/** What happens to a call of the registry: it is served, served without its answer, hangs or fails. */
export type Mood = "here" | "mute" | "hangs" | "away"

export interface RegistryWorldOptions {
  readonly limits?: Partial<Limits>
  readonly authorizer?: NonNullable<RegistryOptions["authorizer"]>
  readonly now?: () => number
}

export const makeRegistry = (options: RegistryWorldOptions = {}) => {
  const storage = openNodeStorage()
  const limits = makeLimits(options.limits)
  const runtime = makeRegistryRuntime(
    makeNodeHost({
      name: "registry",
      storage,
      ...(options.now === undefined ? {} : { now: options.now }),
    }),
    {
      limits,
      ...(options.authorizer === undefined ? {} : { authorizer: options.authorizer }),
    },
  )
  const state = { mood: "here" as Mood, calls: 0 }
  const target: WireTarget = {
    call: async (message) => {
      if (message._tag === "Interrupt") return runtime.call(message)
      state.calls += 1
      if (state.mood === "hangs") return new Promise(() => undefined)
      if (state.mood === "away") throw new Error("the registry is away")
      const exit = await runtime.call(message)
      if (state.mood === "mute") throw new Error("the answer is lost")
      return exit
    },
  }
  const connect = (caller: Caller) =>
    Effect.runSync(
      Scope.provide(
        makeWireClient(RegistryRpc, {
          target: () => inMemoryTarget(target),
          headers: callerHeaders(caller),
        }),
        Scope.makeUnsafe(),
      ),
    )
  const scheduler = connect({ _tag: "Scheduler" })
  const principal = connect({ _tag: "Principal", principal: Principal.make("ann") })
  return {
    storage,
    limits,
    target,
    state,
    scheduler,
    principal,
    /** Enters as the owner of that name does. */
    enter: (name: string, owes: boolean) => {
      const ownerId = OwnerId.make(name)
      return connect({ _tag: "Owner", ownerId }).enter({ ownerId, owes })
    },
    rows: () =>
      storage.sql.all("SELECT 1 FROM sqlite_schema WHERE name = 'owners'").length === 0
        ? []
        : storage.sql.all("SELECT * FROM owners ORDER BY owner_id"),
  }
}
