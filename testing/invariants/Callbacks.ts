/**
 * Callbacks: a token stands for one wait, in every attempt, and nothing that is kept or published tells it. And what was
 * received for a wait, by a token or otherwise, is what its handler is given.
 *
 * What a token leads to is judged where it is used (`CallbackClient.ts`).
 */
import { callbackAddress } from "../../contracts/Callback.ts"
import { markOf } from "../Talk.ts"
import type { World } from "../World.ts"
import type { Violate } from "./Violate.ts"

const name = "Callbacks"

const eachHasOne = ({ talk }: World, violate: Violate): void => {
  const marks = new Map<string, string>()
  for (const [mark, tokens] of talk.tokens) {
    if (tokens.size > 1) violate(name, `${mark} was given ${tokens.size} tokens`)
    for (const token of tokens) {
      const other = marks.get(token)
      if (other !== undefined) violate(name, `${mark} and ${other} have one token`)
      marks.set(token, mark)
    }
  }
}

/** Nobody finds a token in what is recorded or published. */
const noneIsTold = ({ platform, sink, talk }: World, violate: Violate): void => {
  for (const [mark, tokens] of talk.tokens)
    for (const token of tokens) {
      const { ownerId, secret, threadId } = callbackAddress(token)
      const thread = `${ownerId}/${threadId}`
      const { state } = platform.object("thread", thread)
      const isRecorded =
        state.hasTable("journal") &&
        state.read("SELECT 1 FROM journal WHERE instr(payload, ?) > 0 LIMIT 1", secret).length > 0
      if (isRecorded) violate(name, `the token of ${mark} stands in a record`)
      for (const text of sink?.taken.get(thread)?.records.values() ?? [])
        if (text.includes(secret)) violate(name, `the token of ${mark} was published`)
    }
}

const valuesArrive = ({ outside, told }: World, violate: Violate): void => {
  for (const [submissionId, seen] of outside.seen)
    for (const [wait, given] of seen) {
      const value = told.signalled.get(markOf(submissionId, wait))
      if (value !== undefined && given !== String(value))
        violate(name, `${wait} of ${submissionId} received ${value}, and was given ${given}`)
    }
}

/** Looked at once all has settled. */
export const tokensAreKept = (world: World, violate: Violate): void => {
  if (world.plan.talks !== true) return
  valuesArrive(world, violate)
  eachHasOne(world, violate)
  noneIsTold(world, violate)
}
