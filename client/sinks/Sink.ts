/**
 * What `publication` of a deployment takes: a sink, or how to find one in the Worker's environment.
 */
import type { HeddleSink } from "../../contracts/Publication.ts"

export type SinkFrom<Env> = (env: Env) => HeddleSink

/** What the environment has, or an error that says what it lacks. */
export const bound = <Bound>(found: Bound | undefined, missing: string): Bound => {
  if (found === undefined || found === null) throw new Error(missing)
  return found
}
