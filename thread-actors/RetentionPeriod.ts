/** How long something is kept, as a deployment or an agent says it. */
import { Duration } from "effect"

/** Milliseconds, without an end where it is infinite; none where it is no time to come. */
export const readPeriod = (period: Duration.Input): number | undefined => {
  try {
    const millis = Duration.toMillis(Duration.fromInputUnsafe(period))
    return millis >= 1 ? millis : undefined
  } catch {
    return undefined
  }
}
