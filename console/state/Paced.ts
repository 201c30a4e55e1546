/** Runs at once, and then at most once in so many milliseconds; the last wish is never lost. */

export const paced = (millis: number, work: () => Promise<void>): (() => void) => {
  let isBusy = false
  let isWanted = false
  const turn = async (): Promise<void> => {
    isBusy = true
    while (isWanted) {
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
