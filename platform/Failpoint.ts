/**
 * Failpoints: named places around durable blocks where a test makes the object crash or wait.
 *
 * Inert in production: reaching one is a constant effect. Each object keeps its names as a literal
 * list next to the blocks they bracket, and the crash matrix iterates that list.
 */
import { Context, Effect } from "effect"

export interface Failpoints {
  /** `point` is `name:before` or `name:after`. A test may fail to return from it. */
  readonly reach: (point: string) => Effect.Effect<void>
}

export const inert: Failpoints = { reach: () => Effect.void }

/** Test-only authority; `inert` unless a test's layer says otherwise. */
export const CurrentFailpoints = Context.Reference<Failpoints>("heddle/platform/Failpoints", {
  defaultValue: () => inert,
})

/** Runs a synchronous durable block between `name:before` and `name:after`. */
export const bracket = <A>(
  failpoints: Failpoints,
  name: string,
  block: () => A,
): Effect.Effect<A> =>
  failpoints === inert
    ? Effect.sync(block)
    : Effect.gen(function* () {
        yield* failpoints.reach(`${name}:before`)
        const result = block()
        yield* failpoints.reach(`${name}:after`)
        return result
      })
