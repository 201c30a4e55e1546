/** Runs the rows, one after the other, each as often as it says, and keeps what they came to. */
import { median, type Row, type Sample, type World } from "./Row.ts"

export interface Result {
  readonly row: Row
  readonly samples: ReadonlyArray<Sample>
  /** The medians. */
  readonly value: number
  readonly floor: number | undefined
  /** The smallest and the largest value. */
  readonly spread: readonly [number, number]
  /** Undefined without a budget. */
  readonly holds: boolean | undefined
}

export const resultOf = (row: Row, samples: ReadonlyArray<Sample>): Result => {
  const values = samples.map(({ value }) => value)
  const floors = samples.flatMap(({ floor }) => (floor === undefined ? [] : [floor]))
  const value = median(values)
  const floor = floors.length === 0 ? undefined : median(floors)
  return {
    row,
    samples,
    value,
    floor,
    spread: [Math.min(...values), Math.max(...values)],
    holds: row.budget?.holds(floor === undefined ? { value } : { value, floor }),
  }
}

export const measureRow = async (
  world: World,
  row: Row,
  onSample: (sample: Sample) => void,
): Promise<Result> => {
  const samples: Array<Sample> = []
  for (let run = 0; run < row.runs; run++) {
    const sample = await row.measure(world)
    samples.push(sample)
    onSample(sample)
  }
  return resultOf(row, samples)
}
