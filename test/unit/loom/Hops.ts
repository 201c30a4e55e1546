/**
 * What goes round a ring of threads, and how a log of what every run saw is judged. Pure: rings in Node and in the real
 * runtime share it.
 *
 * - H1 None is lost, and none is worked on by two submissions: each has its attempts one after the other.
 * - H2 What came from the thread before came as that one sent it.
 */
import { Schema } from "effect"
import type { SubmissionId } from "../../../contracts/Identifiers.ts"

/** What a run was given: which token, how many hops it has left, and which message of its hop this is. */
export const Token = Schema.Struct({ token: Schema.Int, left: Schema.Int, part: Schema.Int })
export type Token = typeof Token.Type

export interface Seen extends Token {
  readonly thread: number
  readonly submissionId: SubmissionId
}

/** A hop is so many messages of one run to the next thread; the last of them hops on. */
export const parts = 3

/** What a run sends to the next thread, in its order. */
export const sentBy = ({ left, part, token }: Token): ReadonlyArray<Token> =>
  left === 0 || part < parts - 1
    ? []
    : Array.from({ length: parts }, (_, next) => ({ token, left: left - 1, part: next }))

/** The runs of a thread in their order, whatever number of attempts each took. */
const runsOf = (log: ReadonlyArray<Seen>, thread: number): ReadonlyArray<Seen> => {
  const own = log.filter((seen) => seen.thread === thread)
  return own.filter((seen, index) => seen.submissionId !== own[index - 1]?.submissionId)
}

const words = ({ left, part, token }: Token): string => `${token}:${left}:${part}`

interface Ring {
  readonly threads: number
  readonly tokens: number
  readonly hops: number
}

/** How many runs there are to be: one for each token, and one for each message. */
export const runsIn = ({ hops, tokens }: Ring): number => tokens + tokens * hops * parts

/** The runs of all threads, and what is wrong with them. */
export const judge = (log: ReadonlyArray<Seen>, ring: Ring) => {
  const all = Array.from({ length: ring.threads }, (_, thread) => runsOf(log, thread))
  const runs = all.flat()
  const wanted = runsIn(ring)
  const wrong: Array<string> = []
  const count = (what: string, found: number): void => {
    if (found !== wanted) wrong.push(`${found} ${what} of ${wanted}`) // H1
  }
  count("runs", runs.length)
  count("submissions", new Set(runs.map(({ submissionId }) => submissionId)).size)
  count("messages", new Set(runs.map(words)).size)
  for (const [thread, own] of all.entries()) {
    const sent = (all.at(thread - 1) ?? []).flatMap(sentBy).map(words).join()
    const came = own.filter(({ left }) => left < ring.hops)
    if (came.map(words).join() !== sent) wrong.push(`thread ${thread} is out of order`) // H2
  }
  return { runs, wrong }
}
