/** `heddle resolve`: somebody's word on a call of which nobody knows whether it happened. */
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import type { Resolution } from "../../contracts/ResolveUnknown.ts"
import { hasInput, inputFlags, readInput, type InputFlags } from "../Input.ts"
import { author, reason, record, submission, thread } from "../Parameters.ts"
import { paragraphs } from "../Root.ts"
import { withSession } from "../Session.ts"
import { settlementText } from "../Settled.ts"
import { usage } from "../Stopped.ts"
import { fields } from "../Table.ts"

const ways = ["completed", "failed", "never-happened", "safe-to-retry", "abort"] as const

const tags = {
  "never-happened": "NeverHappened",
  "safe-to-retry": "SafeToRetry",
  abort: "AbortSubmission",
} as const

const resolutionOf = Effect.fnUntraced(function* (way: (typeof ways)[number], flags: InputFlags) {
  if (way !== "completed" && way !== "failed") {
    if (!hasInput(flags)) return { _tag: tags[way] } satisfies Resolution
    return yield* usage(`--as ${way} takes no result`)
  }
  const result = (yield* readInput(flags)) as Extract<
    Resolution,
    { _tag: "CompletedWithResult" }
  >["result"]
  return {
    _tag: "CompletedWithResult",
    result,
    ...(way === "failed" ? { isFailure: true } : {}),
  } satisfies Resolution
})

export const resolve = Command.make(
  "resolve",
  {
    thread,
    submission,
    record,
    as: Flag.Literals("as", ways).pipe(Flag.withDescription("What you found")),
    ...inputFlags,
    reason,
    author,
  },
  (given) =>
    withSession(
      Effect.fnUntraced(function* (session) {
        const ownerId = yield* session.ownerId
        const resolution = yield* resolutionOf(given.as, given)
        const reply = yield* session.client.rpc.resolveUnknown({
          ownerId,
          threadId: given.thread,
          submissionId: given.submission,
          recordId: given.record,
          resolution,
          author: Option.getOrElse(given.author, () => session.author),
          reason: given.reason,
        })
        yield* session.show(reply, () =>
          reply.settlement === undefined
            ? fields({ state: reply.state, "calls still unknown": reply.undecided })
            : settlementText(reply.settlement),
        )
      }),
      given.thread,
    ),
).pipe(
  Command.withDescription(
    paragraphs(`Say what became of a tool call whose outcome was lost. Look at the provider first: the first word decides.

  --as completed       it happened; --input, --file or --stdin is what it gave
  --as failed          it was refused; the same is the declared failure
  --as never-happened  you have seen that it did not: it is made again
  --as safe-to-retry   making it again does no harm: it is made again
  --as abort           nobody needs it any more: the submission ends aborted`),
  ),
  Command.withShortDescription("Say what became of a call of unknown outcome"),
  Command.withExamples([
    {
      command:
        'heddle resolve order-12 01a2296d-d875-7000-acd4-19af00000001 1e6df89deeca98c5b857859846b300ca --as completed --input \'{"transaction":"t-7"}\' -m "seen at the provider"',
    },
  ]),
)
