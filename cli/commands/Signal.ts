/** `heddle signal` and `heddle callback`: a value from outside for a run that waits for it. */
import { Effect, Option, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import { callbackAddress, CallbackToken } from "../../contracts/Callback.ts"
import type { SignalReply } from "../../contracts/Signal.ts"
import { payloadFlags, readPayload } from "../Input.ts"
import { stepName, submission, thread } from "../Parameters.ts"
import { paragraphs } from "../Root.ts"
import { type Session, withSession } from "../Session.ts"
import { usage } from "../Stopped.ts"
import { fields } from "../Table.ts"
import { isoOf } from "../Times.ts"

const show = (session: Session, reply: SignalReply) =>
  session.show(reply, () =>
    fields({
      received: isoOf(reply.receivedAt),
      "was received before": reply.duplicate,
      state: reply.state,
    }),
  )

export const signal = Command.make(
  "signal",
  { thread, submission, name: stepName("What it waits for, by its name"), ...payloadFlags },
  (given) =>
    withSession(
      Effect.fnUntraced(function* (session) {
        const ownerId = yield* session.ownerId
        const payload = yield* readPayload(given)
        const reply = yield* session.client.rpc.signal({
          ownerId,
          threadId: given.thread,
          submissionId: given.submission,
          name: given.name,
          payload,
        })
        yield* show(session, reply)
      }),
      given.thread,
    ),
).pipe(
  Command.withDescription(
    "Give a run the value that it waits for; one that has not asked yet finds it when it does. The first value " +
      "stands: the same again changes nothing, another is refused.",
  ),
  Command.withShortDescription("Give a run the value that it waits for"),
  Command.withExamples([
    {
      command:
        'heddle signal order-12 01a2296d-d875-7000-acd4-19af00000001 carrier --payload \'{"parcel":"p-7"}\'',
    },
    {
      command:
        "heddle signal order-12 01a2296d-d875-7000-acd4-19af00000001 carrier --payload-file big.json",
    },
  ]),
)

const token = Argument.String("token").pipe(
  Argument.withDescription("As the run gave it away: a secret"),
)

const decodeToken = Schema.decodeUnknownOption(CallbackToken)

/** Checked here, and not where arguments are: what is refused there is shown, and this may be nearly one. */
const tokenOf = (text: string) =>
  Option.match(decodeToken(text), {
    onNone: () =>
      Effect.fail(usage("This is no callback token: owner~thread~ and 32 hexadecimal digits")),
    onSome: Effect.succeed,
  })

export const callback = Command.make("callback", { token, ...payloadFlags }, (given) =>
  withSession(
    Effect.fnUntraced(function* (session) {
      const callbackToken = yield* tokenOf(given.token)
      const payload = yield* readPayload(given)
      const { ownerId, threadId } = callbackAddress(callbackToken)
      const call = { ownerId, threadId, token: callbackToken, payload }
      yield* show(session, yield* session.client.rpc.callback(call))
    }),
  ),
).pipe(
  Command.withDescription(
    paragraphs(`Signal with a token that a run gave away: it names the owner, the thread and the wait. What a webhook does with
POST /callback/TOKEN, with your own token besides; for trying it out, and for a value that a webhook lost.

Whoever reads your shell's history reads the token: it is worth nothing once the value has been given.`),
  ),
  Command.withShortDescription("Signal with a token that a run gave away"),
  Command.withExamples([
    {
      command:
        'heddle callback shop-1~order-12~1e6df89deeca98c5b857859846b300ca --payload \'{"status":"paid"}\'',
    },
  ]),
)
