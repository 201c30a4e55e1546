/** Waiting until everything written so far is durable: before what could kill the object. */
import { Effect } from "effect"
import type { Thread } from "./Thread.ts"

/** Whether it is; a storage that fails is told by the next block. */
export const flush = (thread: Thread): Effect.Effect<boolean> =>
  Effect.callback((resume) => {
    const failed = () => resume(Effect.succeed(false))
    try {
      thread.host.storage.sync().then(() => resume(Effect.succeed(true)), failed)
    } catch {
      failed()
    }
  })
