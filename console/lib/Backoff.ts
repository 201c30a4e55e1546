/** When what was lost, or has nothing to tell, is asked again. Pure. */

const baseMillis = 500
const maxMillis = 30_000

/** The pause before the nth try in a row, spread so that many pages do not come at once. */
export const pauseMillis = (nth: number, random: number): number => {
  const full = Math.min(maxMillis, baseMillis * 2 ** Math.max(0, nth - 1))
  return Math.round(full * (0.5 + random / 2))
}

const restBaseMillis = 15_000
const restMaxMillis = 120_000

/** The pause before the nth look at an owner that had nothing to tell at the looks before. */
export const restMillis = (nth: number): number =>
  Math.min(restMaxMillis, restBaseMillis * 2 ** Math.max(0, nth - 1))

const lookBaseMillis = 1_500
const lookMaxMillis = 60_000

/** The pause before one more look at what is tried at a given time: soon after that, and then longer each time. */
export const lookMillis = ({
  looks,
  untilMillis,
}: {
  readonly untilMillis: number
  /** Since that time was told. */
  readonly looks: number
}): number => {
  const pause = Math.min(lookMaxMillis, lookBaseMillis * 2 ** looks)
  return Math.max(0, untilMillis) + pause
}
