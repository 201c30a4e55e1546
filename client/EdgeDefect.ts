/**
 * What broke an edge before a call was served: told to the caller as a reference, which the log repeats.
 *
 * - F1 The log tells a deployment that cannot work in our own words, and whatever else by its name and where it came
 *   from. The caller gets neither.
 */
import { Effect } from "effect"
import { describeThrown } from "../contracts/Thrown.ts"

/** A deployment that cannot work says so in words of ours, and what to change. */
const isDeployment = (error: unknown): error is Error =>
  error instanceof Error && error.name === "DeploymentError"

/** Logs it, and gives the reference. */
export const logDefect = (edge: string, error: unknown): Effect.Effect<string> =>
  Effect.suspend(() => {
    const reference = crypto.randomUUID()
    const what = isDeployment(error) ? error.message : describeThrown(error)
    return Effect.as(Effect.logError(`Defect ${reference} in the ${edge} edge: ${what}`), reference) // F1
  })
