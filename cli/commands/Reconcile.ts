/** `heddle reconcile`: rebuilds an owner from its threads' ids. */
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { ThreadId } from "../../contracts/Identifiers.ts"
import { isThreadId } from "../Parameters.ts"
import { pathFlag } from "../Paths.ts"
import { attempt, withSession } from "../Session.ts"
import { type Stopped, usage } from "../Stopped.ts"
import { readText, type TextOptions } from "../TextFile.ts"

/** Threads of one call. */
const threadsMax = 1_000

const idsText: TextOptions = {
  bytesMax: 64 * 1024 * 1024,
  tooLarge: "Split it: split -l 100000 FILE.",
}

/** Ids by lines; `OWNER/THREAD`, as the platform lists objects, is taken too. */
const idsOfFile = Effect.fnUntraced(function* (path: string, ownerId: string) {
  const text = yield* Effect.tryPromise({
    try: () => readText(path, idsText),
    catch: (error) => error as Stopped,
  })
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .map((line) => (line.startsWith(`${ownerId}/`) ? line.slice(ownerId.length + 1) : line))
})

const checked = (ids: ReadonlyArray<string>): ReadonlyArray<ThreadId> => {
  if (ids.length === 0) throw usage("Name threads, or a file of their ids with --file")
  return [...new Set(ids)].map((id) => {
    if (!isThreadId(id)) throw usage(`${JSON.stringify(id)} is no thread id`)
    return ThreadId.make(id)
  })
}

export const reconcile = Command.make(
  "reconcile",
  {
    threads: Argument.String("thread").pipe(
      Argument.withDescription("Threads of the owner"),
      Argument.variadic(),
    ),
    file: pathFlag("file").pipe(
      Flag.withAlias("f"),
      Flag.withDescription("A file of thread ids, one a line; - is standard input"),
      Flag.optional,
    ),
  },
  ({ file, threads }) =>
    withSession(
      Effect.fnUntraced(function* (session) {
        const ownerId = yield* session.ownerId
        const listed = Option.isNone(file) ? [] : yield* idsOfFile(file.value, ownerId)
        const ids = yield* attempt(() => checked([...threads, ...listed]))
        let enrolled = 0
        for (let at = 0; at < ids.length; at += threadsMax) {
          yield* session.output.progress(`Reconciling: ${at} of ${ids.length}`)
          const reply = yield* session.client.rpc.reconcile({
            ownerId,
            threadIds: ids.slice(at, at + threadsMax),
          })
          enrolled += reply.enrolled
        }
        yield* session.show({ enrolled }, () => `${enrolled} threads will be visited.`)
      }),
    ),
).pipe(
  Command.withDescription(
    "Have an owner that was lost or restored forget what it believes of these threads, and visit them. " +
      "Any number: they are told to it in calls of a thousand.",
  ),
  Command.withShortDescription("Rebuild an owner from its threads' ids"),
  Command.withExamples([
    { command: "heddle reconcile order-12 order-13" },
    {
      command: "heddle reconcile --file threads.txt",
      description: "One id a line, or OWNER/THREAD",
    },
  ]),
)
