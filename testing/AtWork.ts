/**
 * Which runs are at work, as their handlers know it. Nothing here reads what the objects have recorded.
 *
 * - W1 A handler is at work from where it is entered to its end. What an instance did that is gone has ended with it.
 * - W2 A thread has one at a time: one that takes its time to leave is behind its run.
 */
import type { Incarnation } from "./Incarnation.ts"

/** A handler that was entered. */
export interface Working {
  readonly incarnation: Incarnation
  readonly submissionId: string
  readonly agent: string
}

export interface AtWork {
  /** Those of an agent in the threads of an owner. */
  readonly of: (ownerId: string, agent: string) => ReadonlyArray<Working>
  /** A handler is entered. Gives what is to be called at its end. */
  readonly enters: (working: Working) => () => void
}

const isThere = ({ incarnation }: Working): boolean =>
  incarnation.object.incarnation === incarnation

export const makeAtWork = (onWork: (working: Working) => void): AtWork => {
  const all = new Map<string, Working>()
  return {
    of: (ownerId, agent) =>
      [...all].flatMap(([thread, one]) =>
        one.agent === agent && isThere(one) && thread.startsWith(`${ownerId}/`) ? [one] : [],
      ),
    enters: (working) => {
      const { name } = working.incarnation.object
      all.set(name, working) // W2
      onWork(working)
      return () => {
        if (all.get(name) === working) all.delete(name) // W1
      }
    },
  }
}
