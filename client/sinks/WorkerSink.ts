/**
 * Another Worker as a sink, over a service binding: its entrypoint has a method `publish`, which is called with each batch
 * and resolves once that is safe there. Batches come in the order of their threads, whole.
 */
import type { HeddleSink } from "../../contracts/Publication.ts"
import { bound, type SinkFrom } from "./Sink.ts"

/** Publishes to another Worker: `workerSink((env: Env) => env.CONSUMER)`. */
export const workerSink =
  <Env>(find: (env: Env) => HeddleSink | undefined): SinkFrom<Env> =>
  (env) => {
    const worker = bound(
      find(env),
      "The environment has no service where `publication` looks: add it to [[services]]",
    )
    return { publish: async (batch) => void (await worker.publish(batch)) }
  }
