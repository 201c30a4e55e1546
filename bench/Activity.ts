/**
 * For how long an object is active, as the platform bills it: while it serves a call or an alarm, and while a timer of its
 * own, or a promise that it has handed to `waitUntil`, is pending.
 *
 * - A1 Time in which several of these go on counts once.
 * - A2 A timer counts for the object in whose call or alarm it was set, however far from it: the platform's asynchronous
 *   context says which.
 */
import { AsyncLocalStorage } from "node:async_hooks"

export interface Activity {
  readonly begin: () => void
  readonly end: () => void
}

/** Adds up the time from each first beginning to its last end. */
export const makeActivity = (
  add: (millis: number) => void,
  now: () => number = () => performance.now(),
): Activity => {
  let open = 0
  let since = 0
  return {
    begin: () => {
      if (open === 0) since = now()
      open += 1 // A1
    },
    end: () => {
      open -= 1
      if (open === 0) add(now() - since)
    },
  }
}

const current = new AsyncLocalStorage<Activity>()

/** Does something as that object. */
export const whileActive = async <A>(activity: Activity, work: () => Promise<A>): Promise<A> => {
  activity.begin()
  try {
    return await current.run(activity, work)
  } finally {
    activity.end()
  }
}

interface Timers {
  setTimeout: unknown
  clearTimeout: unknown
}

type Run = (...given: ReadonlyArray<unknown>) => void
type Arm = (run: Run, millis?: number, ...given: ReadonlyArray<unknown>) => unknown
type Clear = (timer: unknown) => void

let watched: Timers | undefined

/** From here on the pending timers of whoever is active count. */
export const watchTimers = (timers: Timers = globalThis): void => {
  if (watched === timers) return
  watched = timers
  const [arm, clear] = [timers.setTimeout as Arm, timers.clearTimeout as Clear]
  const pending = new Map<unknown, Activity>()
  const over = (timer: unknown): void => {
    pending.get(timer)?.end()
    pending.delete(timer)
  }
  const watchedArm: Arm = (run, millis, ...given) => {
    const activity = current.getStore() // A2
    if (activity === undefined) return arm(run, millis, ...given)
    const timer = arm(
      (...args) => {
        try {
          run(...args)
        } finally {
          over(timer)
        }
      },
      millis,
      ...given,
    )
    activity.begin()
    pending.set(timer, activity)
    return timer
  }
  const watchedClear: Clear = (timer) => {
    over(timer)
    clear(timer)
  }
  Object.assign(timers, { setTimeout: watchedArm, clearTimeout: watchedClear })
}
