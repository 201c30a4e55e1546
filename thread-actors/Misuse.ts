/**
 * A mistake of an agent's author, told in words of ours: a defect whose message may stand in the
 * settlement, because nothing of a payload is in it.
 */
import { Effect } from "effect"

export class Misuse extends Error {
  override readonly name = "Misuse"
}

/** Fails as a defect with these words. */
export const misuse = (message: string): Effect.Effect<never> => Effect.die(new Misuse(message))

/** The promise of an async function that should have been an effect: that it rejects concerns nobody. */
const drop = (given: unknown): void => {
  if (given instanceof Promise) given.catch(() => undefined)
}

/** The effect that agent code gave; none if it gave anything else. Never throws. */
export const asEffect = (given: unknown): Effect.Effect<unknown, unknown, never> | undefined => {
  try {
    if (Effect.isEffect(given)) return given as Effect.Effect<unknown, unknown, never>
    drop(given)
  } catch {
    // A proxy: no effect either.
  }
  return undefined
}

/** The same, or the words if it gave anything else. */
export const effectOf = (given: unknown, message: string): Effect.Effect<unknown, unknown, never> =>
  asEffect(given) ?? misuse(message)

/** The words of a misuse; none for any other defect. Never throws. */
export const misuseMessage = (defect: unknown): string | undefined => {
  try {
    return defect instanceof Misuse ? defect.message : undefined
  } catch {
    return undefined
  }
}
