/**
 * What an isolate knows of a collector: plain values, which its objects and the invocations of its edge share.
 *
 * - S1 Who finds that the collector takes nothing finds it for all: nobody asks it for a while, and then one at a time
 *   until it takes something again.
 * - S2 Spans that nobody took are counted here until metrics that tell so are taken: who dropped them may have gone.
 */

export interface CollectorState {
  /** Nobody asks it before. Epoch milliseconds. */
  restsUntil: number
  /** Whether it did not take what it was sent last. */
  failing: boolean
  /** Spans that nobody took, and nobody has told of. */
  dropped: number
  /** Who tries it while it fails, and for how long that is waited for. */
  triedBy: symbol | undefined
  triedUntil: number
}

export const makeCollectorState = (): CollectorState => ({
  restsUntil: 0,
  failing: false,
  dropped: 0,
  triedBy: undefined,
  triedUntil: 0,
})

/** Whether this sender may ask it now. // S1 */
export const mayAsk = (
  state: CollectorState,
  sender: symbol,
  { now, sendMillis }: { readonly now: number; readonly sendMillis: number },
): boolean => {
  if (now < state.restsUntil) return false
  if (!state.failing) return true
  if (state.triedBy !== sender && now < state.triedUntil) return false
  state.triedBy = sender
  state.triedUntil = now + sendMillis
  return true
}

/** Notes whether it took what it was sent; says what is new about it. // S1 */
export const noteEnd = (
  state: CollectorState,
  taken: boolean,
  { now, restMillis }: { readonly now: number; readonly restMillis: number },
): "fails" | "takes again" | undefined => {
  if (!taken) state.restsUntil = now + restMillis
  if (taken === !state.failing) return undefined
  state.failing = !taken
  state.triedBy = undefined
  return taken ? "takes again" : "fails"
}

/** Takes the count of the spans that nobody took; none while nobody would be told. // S2 */
export const takeDropped = (state: CollectorState, now: number): number => {
  if (now < state.restsUntil) return 0
  const { dropped } = state
  state.dropped = 0
  return dropped
}
