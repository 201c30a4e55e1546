/** A workerd process on a disk of its own, and the client of it over HTTP. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Context, Effect, Layer } from "effect"
import { HeddleClient } from "../../client/HeddleClient.ts"
import { mintToken } from "../../scripts/mintToken.ts"
import { type RunningWorkerd, startWorkerd } from "../../scripts/workerd.ts"
import { buildWorker, repositoryRoot, type WorkerBuild } from "../../scripts/workerBuild.ts"

export const secret = "a secret of the thirty-two bytes"

/** Of the Worker in this folder; once for all tests of a file. */
export const build = (): Promise<WorkerBuild> =>
  buildWorker(join(repositoryRoot, "test", "process", "wrangler.toml"))

/** Starts it; the scope's end kills it and removes its disk. */
export const startServer = Effect.fnUntraced(function* (worker: WorkerBuild) {
  const persistDir = yield* Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), "heddle-process-test-"))),
    (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true })),
  )
  const start = (port: number) =>
    Effect.promise(() => startWorkerd({ build: worker, persistDir, port, secret }))
  let running: RunningWorkerd = yield* start(0)
  yield* Effect.addFinalizer(() => Effect.promise(() => running.kill()))
  const { port, url } = running
  const token = yield* Effect.promise(() =>
    mintToken({
      grants: { principal: "ada" as never, owners: ["*"] },
      secret,
      expiresInSeconds: 600,
    }),
  )
  const context = yield* Layer.build(HeddleClient.layerHttp({ url, token }))
  return {
    url,
    token,
    client: Context.get(context, HeddleClient),
    /** A SIGKILL, and a new process on the same disk and port. */
    killAndStart: Effect.gen(function* () {
      yield* Effect.promise(() => running.kill())
      running = yield* start(port)
    }),
  }
})
