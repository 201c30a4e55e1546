/**
 * What is measured: a name, how, and the budget of it. A figure is compared with what the floor needs in the same run, or
 * stands for itself.
 */
import type { Builds, Product, Served } from "./Served.ts"

/** What one run of a measurement came to. */
export interface Sample {
  readonly value: number
  /** The same of the floor, or of the ideal, where the budget is a ratio to it. */
  readonly floor?: number
}

export interface Budget {
  /** As in the table: `≥ 0.5 × floor`, `≤ 18`. */
  readonly text: string
  readonly holds: (sample: Sample) => boolean
}

export interface World {
  readonly product: Product
  readonly floor: Served
  readonly builds: Builds
}

export interface Row {
  readonly name: string
  /** What it is, for the table. */
  readonly title: string
  readonly unit: string
  /** None where a figure is told and no promise is made about it. */
  readonly budget: Budget | undefined
  /** How often it is measured; the median counts. Counts do not vary. */
  readonly runs: number
  readonly measure: (world: World) => Promise<Sample>
}

/** Several figures of one kind over a size: a row each, and a chart of them. */
export interface Chart {
  readonly name: string
  readonly title: string
  readonly x: string
  readonly y: string
  /** The rows in it, by name, with where each stands on the x axis. */
  readonly points: ReadonlyArray<{ readonly row: string; readonly at: number }>
}

const ratio = ({ floor, value }: Sample): number => value / (floor ?? Number.NaN)

export const atMost = (maximum: number): Budget => ({
  text: `≤ ${maximum}`,
  holds: ({ value }) => value <= maximum,
})

export const atLeastOfFloor = (factor: number, of = "floor"): Budget => ({
  text: `≥ ${factor} × ${of}`,
  holds: (sample) => ratio(sample) >= factor,
})

export const atMostOfFloor = (factor: number, of = "floor"): Budget => ({
  text: `≤ ${factor} × ${of}`,
  holds: (sample) => ratio(sample) <= factor,
})

/** The middle one; of an even number the lower of the two. */
export const median = (values: ReadonlyArray<number>): number => {
  const sorted = values.toSorted((first, second) => first - second)
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN
}
