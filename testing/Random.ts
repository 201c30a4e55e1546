/**
 * Chance in the simulation: a small seeded generator (sfc32), so that a seed is a whole run.
 */
export interface Random {
  /** In [0, 1). */
  readonly next: () => number
  /** An integer in [0, bound). */
  readonly below: (bound: number) => number
  /** An integer from `least` to `most`, both included. */
  readonly between: (least: number, most: number) => number
  readonly chance: (probability: number) => boolean
  readonly pick: <A>(of: ReadonlyArray<A>) => A
  /** One of them, as often as its weight says. */
  readonly weighted: <A>(of: ReadonlyArray<readonly [weight: number, value: A]>) => A
  /** A generator of its own, which draws nothing more from this one. */
  readonly fork: () => Random
}

/** Spreads a small seed over 32 bits. */
const spread = (seed: number): (() => number) => {
  let state = seed | 0
  return () => {
    state = (state + 0x9e3779b9) | 0
    let mixed = state ^ (state >>> 16)
    mixed = Math.imul(mixed, 0x21f0aaad)
    mixed ^= mixed >>> 15
    mixed = Math.imul(mixed, 0x735a2d97)
    return mixed ^ (mixed >>> 15)
  }
}

const generator = (seed: number): (() => number) => {
  const draw = spread(seed)
  let a = draw()
  let b = draw()
  let c = draw()
  let counter = 1
  return () => {
    const sum = (((a + b) | 0) + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + sum) | 0
    return sum >>> 0
  }
}

/** A generator; the same seed always draws the same. */
export const makeRandom = (seed: number): Random => {
  const word = generator(seed)
  for (let warm = 0; warm < 12; warm++) word()
  const next = (): number => word() / 4_294_967_296
  const below = (bound: number): number => Math.floor(next() * bound)
  return {
    next,
    below,
    between: (least, most) => least + below(most - least + 1),
    chance: (probability) => probability > 0 && next() < probability,
    pick: <A>(of: ReadonlyArray<A>): A => {
      if (of.length === 0) throw new RangeError("there is nothing to pick from")
      return of[below(of.length)] as A
    },
    weighted: <A>(of: ReadonlyArray<readonly [number, A]>): A => {
      const total = of.reduce((sum, [weight]) => sum + weight, 0)
      let left = next() * total
      for (const [weight, value] of of) {
        left -= weight
        if (left < 0) return value
      }
      throw new RangeError("there is nothing to pick from")
    },
    fork: () => makeRandom(word()),
  }
}
