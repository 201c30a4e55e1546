/** `heddle console`: where the operators' console of a deployment is. */
import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { openAddress } from "../OpenAddress.ts"
import { thread } from "../Parameters.ts"
import { withSession } from "../Session.ts"

/** The page of an owner, or of a thread of it. What names them stands behind `#` and is sent to nobody. */
const addressOf = (url: string, ownerId: string, threadId: string | undefined): string => {
  const page = new URL("/console/", url)
  const parts = ["owners", ownerId, ...(threadId === undefined ? [] : ["threads", threadId])]
  page.hash = `/${parts.map(encodeURIComponent).join("/")}`
  return page.href
}

export const console = Command.make(
  "console",
  {
    thread: Argument.optional(thread),
    open: Flag.Boolean("open").pipe(
      Flag.withDescription("Open it in the browser of this machine"),
      Flag.withDefault(false),
    ),
  },
  (flags) =>
    withSession(
      Effect.fnUntraced(function* (session) {
        const ownerId = yield* session.ownerId
        const threadId = Option.getOrUndefined(flags.thread)
        const address = addressOf(session.url, ownerId, threadId)
        yield* session.show({ address }, () => address)
        if (flags.open) yield* Effect.sync(() => openAddress(address))
      }),
    ),
).pipe(
  Command.withDescription(
    "Tell the address of the console, on the page of the owner or of a thread. The console asks for a token of its own.",
  ),
  Command.withShortDescription("Where the console is"),
  Command.withExamples([{ command: "heddle console order-12 --open" }]),
)
