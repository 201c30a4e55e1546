/**
 * The workerd process of a demonstration and the folder of its databases: both gone at the end,
 * however it ends.
 *
 * - S1 Starting and restarting cannot be interrupted half-way, only given up by the signal: a process
 *   that was started is always one that the scope knows.
 * - S2 A restart is a SIGKILL and a new process on the same folder and port.
 * - S3 A process that ends without being told to is a failure at once, not a silence.
 */
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { Data, Deferred, Effect, type Scope } from "effect"
import { temporaryFolder } from "../temporaryFolder.ts"
import { type RunningWorkerd, startWorkerd } from "../workerd.ts"

/** The server cannot be started, or ended by itself. `log` is the end of what it printed. */
export class ServerFailed extends Data.TaggedError("ServerFailed")<{
  readonly reason: string
  readonly log: string
}> {}

export interface Server {
  readonly url: string
  /** Kills it and starts it again on the same disk. */
  readonly restart: Effect.Effect<void, ServerFailed>
  /** Fails when the process ends by itself; never succeeds. */
  readonly watch: Effect.Effect<never, ServerFailed>
}

interface Options {
  readonly secret: string
  /** Gives up a start that is under way. */
  readonly signal: AbortSignal
}

interface Current {
  process: RunningWorkerd
  /** Whether an end of the process is what we want just now. */
  ending: boolean
}

type Died = Deferred.Deferred<never, ServerFailed>

const logLinesMax = 30

const logTail = (file: string): Promise<string> =>
  readFile(file, "utf8").then(
    (text) => text.trimEnd().split("\n").slice(-logLinesMax).join("\n"),
    () => "",
  )

const attempting = <A>(logFile: string, action: () => Promise<A>): Effect.Effect<A, ServerFailed> =>
  Effect.catch(Effect.tryPromise({ try: action, catch: (error) => error }), (error) =>
    Effect.flatMap(
      Effect.promise(() => logTail(logFile)),
      (log) =>
        Effect.fail(
          new ServerFailed({ reason: error instanceof Error ? error.message : String(error), log }),
        ),
    ),
  )

const scopedFolder = Effect.map(
  Effect.acquireRelease(
    Effect.promise(() => temporaryFolder("heddle-demo-")),
    ({ remove }) => Effect.promise(remove),
  ),
  ({ folder }) => folder,
)

/** Fails `died` when a process ends that was not told to. */
const watchProcess = async (current: Current, logFile: string, died: Died): Promise<void> => {
  const watched = current.process
  await watched.exited
  if (current.ending || current.process !== watched) return
  const log = await logTail(logFile)
  Deferred.doneUnsafe(
    died,
    Effect.fail(new ServerFailed({ reason: "workerd ended by itself", log })),
  ) // S3
}

/** Starts a server on a fresh disk. The scope's end stops it and removes the disk. */
export const makeServer = Effect.fnUntraced(function* (
  options: Options,
): Effect.fn.Return<Server, ServerFailed, Scope.Scope> {
  const folder = yield* scopedFolder
  const logFile = join(folder, "workerd.log")
  const launch = { ...options, persistDir: join(folder, "objects"), logFile }
  const died = yield* Deferred.make<never, ServerFailed>()

  const current = yield* Effect.acquireRelease(
    Effect.map(
      attempting(logFile, () => startWorkerd(launch)), // S1
      (process): Current => ({ process, ending: false }),
    ),
    (running) =>
      Effect.promise(() => {
        running.ending = true
        return running.process.stop()
      }),
  )
  void watchProcess(current, logFile, died)

  const restart = attempting(logFile, async () => {
    current.ending = true
    const { build, port } = current.process
    await current.process.kill("SIGKILL") // S2
    current.process = await startWorkerd({ ...launch, build, port })
    current.ending = false
    void watchProcess(current, logFile, died)
  })
  return {
    url: current.process.url,
    restart: Effect.uninterruptible(restart), // S1
    watch: Deferred.await(died),
  }
})
