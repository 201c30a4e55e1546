/**
 * `run.version`: which version of its code a run takes at a point that was changed while runs were under way.
 *
 * - V1 The first entry chooses, and is recorded: every later attempt takes the same way.
 * - V2 A run that has recorded or asked for anything that this attempt has not come to yet may have been past the point
 *   before the point had a version: it takes the old way, 0. Where only a parallel branch is ahead, that is so, too:
 *   the old way is right for it, as well. What a branch that has lost its race has left is ahead of nobody.
 * - V3 A version that this code does not have any more, or does not have yet, holds the run until a deploy brings it.
 */
import { Effect } from "effect"
import type { VersionOptions } from "./Agent.ts"
import {
  appendFact,
  callbackName,
  leave,
  recall,
  type Running,
  takeName,
  writeFact,
} from "./Fact.ts"
import { recordedNames } from "./Journal.ts"
import { misuse } from "./Misuse.ts"
import { isLostName } from "./RaceWinner.ts"
import { isCount } from "./StoredColumns.ts"
import { waitsOf } from "./WaitRows.ts"
import type { Block } from "./Block.ts"

/** Whether the run was ahead of this attempt by its records or open waits. // V2 */
const wasAhead = ({ sql }: Block, { live }: Running): boolean => {
  const isAhead = (taken: string): boolean => !live.names.has(taken)
  return (
    recordedNames(sql, live.sequence, live.epoch).some(
      (named) =>
        isAhead(named.isToken ? callbackName(named.name) : named.name) &&
        !isLostName(sql, live.sequence, named),
    ) || waitsOf(sql, live.sequence).some(({ name }) => isAhead(name))
  )
}

const choose = (running: Running, name: string, current: number): Effect.Effect<number> =>
  writeFact(running, "step", (block) => {
    const value = wasAhead(block, running) ? 0 : current
    const payload = JSON.stringify({ version: value })
    const fact = { kind: "VersionChosen", name, payload } as const
    return appendFact(block, running.live, fact) ?? { value } // V1
  })

/** The version, as `Run` offers it. */
export const version = (
  running: Running,
  name: string,
  current: number,
  { minimum = 0 }: VersionOptions,
): Effect.Effect<number> =>
  Effect.andThen(
    takeName(running, name),
    Effect.suspend(() => {
      if (!isCount(current) || !isCount(minimum) || current < 1 || minimum > current)
        return misuse(`version ${name}: versions are whole numbers from 1, the minimum at most it`)
      return Effect.flatMap(recall(running, name), (recorded) => {
        const chosen =
          recorded === undefined
            ? choose(running, name, current)
            : Effect.succeed(
                recorded.kind === "VersionChosen" ? Number(recorded.payload["version"]) : NaN,
              )
        return Effect.flatMap(chosen, (value) =>
          value >= minimum && value <= current
            ? Effect.succeed(value)
            : leave(running, { _tag: "Mismatch", name }),
        ) // V3
      })
    }),
  )
