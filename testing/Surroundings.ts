/**
 * What surrounds the product's objects in memory: the host of each incarnation, and how one object reaches
 * another. The simulation and the testing kit share it.
 */
import type { Context } from "effect"
import { registryName } from "../contracts/RegistryRpc.ts"
import { stubTarget } from "../contracts/transport/StubTarget.ts"
import type { WireTarget } from "../contracts/transport/Wire.ts"
import type { ObjectHost } from "../platform/ObjectHost.ts"
import { makeUuidGenerator, secretOf } from "../platform/Uuid.ts"
import type { Incarnation, ObjectKind } from "./Incarnation.ts"
import type { Network, Sender } from "./Network.ts"
import type { Platform } from "./Platform.ts"
import type { Queue } from "./Queue.ts"

/** How something in the world reaches objects. */
export const reaching = (network: Network, platform: Platform) => (from: Sender) => {
  const target = (kind: ObjectKind, name: string): WireTarget => {
    const land = platform.land(kind, name)
    return stubTarget(() => network.target(from, name, land))
  }
  return {
    owner: (ownerId: string): WireTarget => target("owner", ownerId),
    thread: (ownerId: string, threadId: string): WireTarget =>
      target("thread", `${ownerId}/${threadId}`),
    registry: (): WireTarget => target("registry", registryName),
  }
}

const bytes = (queue: Queue) => (length: number) => {
  const drawn = new Uint8Array(length)
  for (let index = 0; index < length; index++) drawn[index] = queue.random.below(256)
  return drawn
}

export const hostOf = (
  queue: Queue,
  incarnation: Incarnation,
  context: Context.Context<never>,
): ObjectHost => {
  const { object, runner } = incarnation
  const now = () => runner.clock
  return {
    name: object.name,
    storage: object.state.viewOf(incarnation),
    now,
    random: queue.random.next,
    uuid: makeUuidGenerator({ now, randomBytes: bytes(queue) }),
    secret: () => secretOf({ randomBytes: bytes(queue) }),
    waitUntil: (promise) => {
      incarnation.kept += 1
      const ended = () => {
        incarnation.kept -= 1
      }
      promise.then(ended, ended)
    },
    macrotask: (task) => queue.macrotask(runner, task),
    context,
  }
}

/** Has an object build its server now, before its fibers may be made to yield. */
export const built = <A extends WireTarget>(code: A): A => {
  void code.call({ _tag: "Interrupt", requestId: "nobody" as never })
  return code
}
