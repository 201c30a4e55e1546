/** Runs at once, and then at most once in so many milliseconds, and only while somebody looks; the last wish is never lost. */
import { untilVisible } from "./Until.ts"

export const paced = (millis: number, work: () => Promise<void>): (() => void) => {
  let isBusy = false
  let isWanted = false
  const turn = async (): Promise<void> => {
    isBusy = true
    while (isWanted) {
      await untilVisible()
      isWanted = false
      await work()
      await new Promise((resolve) => setTimeout(resolve, millis))
    }
    isBusy = false
  }
  return () => {
    isWanted = true
    if (!isBusy) void turn()
  }
}
