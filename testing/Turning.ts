/**
 * Work of a test that is done in turns of the real event loop: it stops where something real must end first.
 *
 * - G1 Each turn is one synchronous piece in a task of the loop, where microtasks can be drained.
 */
import { inTask } from "./Microtasks.ts"

/** Yields where it cannot go on before the real loop has had a turn. */
export type Turning<A> = Generator<void, A>

export interface TurningOptions {
  /** Runs one turn. */
  readonly within: <A>(turn: () => A) => A
  /** Resolves once the next turn may be. */
  readonly between: () => Promise<void>
}

/** Runs it to its end. */
export const turnAll = async <A>(
  work: () => Turning<A>,
  { between, within }: TurningOptions,
): Promise<A> => {
  const turning = work()
  for (;;) {
    const turn = await inTask(() => within(() => turning.next())) // G1
    if (turn.done === true) return turn.value
    await between()
  }
}
