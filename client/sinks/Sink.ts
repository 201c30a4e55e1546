/**
 * What `publication` of a deployment takes: a sink, or how to find one in the Worker's environment.
 *
 * - S1 What a deployment's own function throws is not of our words: it is told as any defect is, by its name.
 */
import type { HeddleSink } from "../../contracts/Publication.ts"

export type SinkFrom<Env> = (env: Env) => HeddleSink

/** The environment lacks what a sink is made of; the message is of our words, and says what to add. */
export class Unbound extends Error {
  override readonly name = "Unbound"
}

/** What the environment has, or an error that says what it lacks. */
export const bound = <Bound>(found: Bound | undefined, missing: string): Bound => {
  if (found === undefined || found === null) throw new Unbound(missing)
  return found
}

/** The sink that a deployment names. What its environment lacks is thrown as `lacking` makes it. // S1 */
export const sinkFrom = <Env>(
  given: HeddleSink | SinkFrom<Env>,
  env: Env,
  lacking: (message: string) => Error,
): HeddleSink => {
  if (typeof given !== "function") return given
  try {
    return given(env)
  } catch (error) {
    throw error instanceof Unbound ? lacking(error.message) : error
  }
}
