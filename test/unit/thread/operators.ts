/** An operator's hands on a thread of the tests: each command as the owner sends it, each look as a reader. */
import type { Generation, RecordId, SubmissionId } from "../../../contracts/Identifiers.ts"
import { go, type World } from "./harness.ts"

export interface Said {
  readonly author?: string
  readonly reason?: string
  readonly principal?: string
  readonly generation?: Generation
}

type Reply<A, E> = {
  readonly result:
    | { readonly _tag: "Success"; readonly value: A }
    | { readonly _tag: "Failure"; readonly error: E }
}

/** The value of a command that must have been taken. */
export const taken = async <A, E>(reply: Promise<Reply<A, E>>): Promise<A> => {
  const { result } = await reply
  if (result._tag === "Failure") throw new Error(`refused: ${JSON.stringify(result.error)}`)
  return result.value
}

/** The refusal of a command that must have been refused. */
export const refused = async <A, E>(reply: Promise<Reply<A, E>>): Promise<E> => {
  const { result } = await reply
  if (result._tag === "Success") throw new Error(`taken: ${JSON.stringify(result.value)}`)
  return result.error
}

export const operate = (world: World) => {
  const words = (said: Said) =>
    ({
      ...world.address,
      author: "ann",
      reason: "looking into it",
      principal: "alice",
      generation: world.generation(),
      now: world.time.now,
      ...said,
    }) as never
  return {
    pause: (said: Said = {}) => go(world.asOwner.pause(words(said))),
    resume: (said: Said = {}) => go(world.asOwner.resume(words(said))),
    retry: (submissionId: SubmissionId, said: Said = {}) =>
      go(world.asOwner.retry(words({ ...said, submissionId } as Said))),
    resubmit: (submissionId: SubmissionId, idempotencyKey: string, said: Said = {}) =>
      go(world.asOwner.resubmit(words({ ...said, submissionId, idempotencyKey } as Said))),
    forget: (said: Said & { readonly abort?: boolean } = {}) =>
      go(world.asOwner.forget(words({ abort: false, ...said }))),
    resolve: (
      question: { readonly submissionId: SubmissionId; readonly recordId: RecordId },
      resolution: { readonly _tag: string; readonly result?: unknown },
      said: Said = {},
    ) => go(world.asOwner.resolveUnknown(words({ ...said, ...question, resolution } as Said))),
    explain: (submissionId?: SubmissionId) =>
      go(
        world.asReader.explain({
          ...world.address,
          ...(submissionId === undefined ? {} : { submissionId }),
        }),
      ),
    verify: (page: { readonly after?: number; readonly limit?: number } = {}) =>
      go(world.asReader.verify({ ...world.address, ...page })),
  }
}

export type Operator = ReturnType<typeof operate>
