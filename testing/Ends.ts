/**
 * How runs went, as their handlers know it: how often each was entered, and with what it ended. Nothing here reads what
 * the objects have recorded.
 *
 * - N1 An end counts from where it left its object: what was lost with an instance never ended.
 * - N2 An end by interruption alone is none: the run is entered again, or was aborted.
 */
import { Cause, Exit } from "effect"
import { type Incarnation, leaveObject } from "./Incarnation.ts"

export interface HandlerEnds {
  /** How often a handler was entered. */
  entered: number
  /** The outputs it has ended with, as text. */
  readonly outputs: Set<string>
  /** How often it ended with a failure that it declares, and by a mistake. */
  failures: number
  defects: number
}

export interface Ends {
  readonly of: (submissionId: string) => Readonly<HandlerEnds>
  readonly enters: (submissionId: string) => void
  readonly ends: (
    incarnation: Incarnation,
    submissionId: string,
    exit: Exit.Exit<unknown, unknown>,
  ) => void
}

export const makeEnds = (): Ends => {
  const all = new Map<string, HandlerEnds>()
  const of = (submissionId: string): HandlerEnds => {
    const known = all.get(submissionId)
    if (known !== undefined) return known
    const made: HandlerEnds = { entered: 0, outputs: new Set(), failures: 0, defects: 0 }
    all.set(submissionId, made)
    return made
  }
  const note = (one: HandlerEnds, exit: Exit.Exit<unknown, unknown>): void => {
    if (Exit.isSuccess(exit)) one.outputs.add(JSON.stringify(exit.value))
    else if (Cause.hasDies(exit.cause)) one.defects += 1
    else if (!Cause.hasInterrupts(exit.cause)) one.failures += 1 // N2
  }
  return {
    of,
    enters: (submissionId) => {
      of(submissionId).entered += 1
    },
    ends: (incarnation, submissionId, exit) =>
      leaveObject(incarnation, () => note(of(submissionId), exit)), // N1
  }
}
