/**
 * Somebody outside who was given tokens, and has nothing else: asks the thread which wait a token is for, then gives that
 * wait its value, as the edge does.
 *
 * - C1 A token that was given away leads to its wait, and to no other; one that was made up, nowhere.
 * - C2 The first value stands. Who comes after it was received with the same is told so; with another one he is refused.
 */
import { Effect } from "effect"
import { callbackAddress, CallbackToken } from "../contracts/Callback.ts"
import type { Client, Doing } from "./Doing.ts"
import { persist, tagOf } from "./Persist.ts"
import type { Talking } from "./Plan.ts"
import { markOf } from "./Talk.ts"

const name = "Callbacks"

/** Gives a wait its value. // C2 */
const give = (webhook: Client, mark: string, token: CallbackToken, value: number, doing: Doing) => {
  const { faults, told, violate } = doing
  const { ownerId, threadId } = callbackAddress(token)
  const { owner, thread } = webhook.rpcs
  return Effect.gen(function* () {
    const target = yield* persist(thread.callback({ ownerId, threadId, token }), faults.isHealed)
    const meant = markOf(target.submissionId, target.name)
    if (meant !== mark) violate(name, `the token of ${mark} leads to ${meant}`) // C1
    const before = told.signalled.get(mark)
    const reply = yield* persist(
      owner.callback({ ownerId, threadId, ...target, payload: value }),
      faults.isHealed,
    )
    const first = told.signalled.get(mark)
    if (first !== undefined && first !== value)
      violate(name, `${mark} was given ${first}, and ${value} was accepted`) // C2
    if (before !== undefined && !reply.duplicate)
      violate(name, `${mark} was given ${before}, and is told that ${value} is the first`) // C2
    told.signalled.set(mark, value)
  }).pipe(
    Effect.catch((error) =>
      Effect.sync(() => {
        // One that was forgotten says so.
        if (tagOf(error) === "OperationDenied") violate(name, `the token of ${mark} is not known`) // C1
      }),
    ),
  )
}

/** Like a token of this thread, and none. */
const madeUp = (token: CallbackToken): CallbackToken => {
  const last = token.endsWith("0") ? "1" : "0"
  return CallbackToken.make(`${token.slice(0, -1)}${last}`)
}

const forge = (webhook: Client, token: CallbackToken, { faults, violate }: Doing) => {
  const { ownerId, threadId } = callbackAddress(token)
  const call = webhook.rpcs.thread.callback({ ownerId, threadId, token: madeUp(token) })
  return Effect.match(persist(call, faults.isHealed), {
    onSuccess: (target) =>
      violate(
        name,
        `a token that was made up leads to ${markOf(target.submissionId, target.name)}`,
      ), // C1
    onFailure: () => undefined,
  })
}

/** Uses one of the tokens that were given away so far. */
export const callBack = (
  { forged, nth, value }: Extract<Talking, { readonly _tag: "Callback" }>,
  doing: Doing,
): Effect.Effect<void> => {
  const all = [...doing.talk.tokens]
  const [mark, tokens] = all[nth % Math.max(1, all.length)] ?? []
  const [token] = tokens ?? []
  if (doing.webhook === undefined || mark === undefined || token === undefined) return Effect.void
  return forged
    ? forge(doing.webhook, token, doing)
    : give(doing.webhook, mark, token, value, doing)
}

/** Answers a wait by its token; undefined where nobody has one. */
export const answerByToken = (
  place: { readonly submissionId: string; readonly name: string },
  doing: Doing,
): Effect.Effect<void> | undefined => {
  const mark = markOf(place.submissionId, place.name)
  const [token] = doing.talk.tokens.get(mark) ?? []
  return doing.webhook === undefined || token === undefined
    ? undefined
    : give(doing.webhook, mark, token, 1, doing)
}
