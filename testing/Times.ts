/**
 * When runs waited for a time, by the true time: what they asked for, and when they were told that it had come. Nothing
 * here reads what the objects have recorded.
 *
 * - A1 A wait counts from the first time that its run asked for it: what an instance lost with itself may be asked for
 *   again, and then comes later.
 * - A2 A time has come as soon as one handler was told so, also in an instance that was lost then.
 * - A3 A wait may end before its time, by an answer.
 * - A4 A run that was entered before the time may ask only after it, since it works until then: what keeps it is its own.
 */
export interface TimedWait {
  readonly submissionId: string
  readonly name: string
  /** The thread that waits. */
  readonly thread: string
  readonly millis: number
  /** The first time, and the last one before that was over. // A1 */
  readonly askedAt: number
  lastAskedAt: number
  /** When a handler was told first that it was over. // A2 */
  overAt: number | undefined
  /** When a handler was told first what came of it, whatever that was. // A3 */
  endedAt: number | undefined
  /** When a handler that was at work as the time came has asked. // A4 */
  cameToAt: number | undefined
}

type Asked = Pick<TimedWait, "submissionId" | "name" | "thread" | "millis">

export interface Times {
  readonly waits: ReadonlyMap<string, TimedWait>
  /** By submission, every time that its handler was entered. */
  readonly entered: ReadonlyMap<string, ReadonlyArray<number>>
  readonly asks: (mark: string, wait: Asked) => void
  /** A handler is told what came of it: that it is over, or something else. */
  readonly ends: (mark: string, isOver: boolean) => void
  readonly enters: (submissionId: string) => void
}

export const makeTimes = (now: () => number): Times => {
  const waits = new Map<string, TimedWait>()
  const entered = new Map<string, Array<number>>()
  return {
    waits,
    entered,
    asks: (mark, wait) => {
      const known = waits.get(mark)
      const at = now()
      if (known === undefined)
        waits.set(mark, {
          ...wait,
          askedAt: at,
          lastAskedAt: at,
          overAt: undefined,
          endedAt: undefined,
          cameToAt: undefined,
        })
      else if (at < known.askedAt + known.millis) known.lastAskedAt = at
      else if ((entered.get(wait.submissionId)?.at(-1) ?? at) < known.askedAt + known.millis)
        known.cameToAt ??= at
    },
    ends: (mark, isOver) => {
      const known = waits.get(mark)
      if (known === undefined) return
      known.endedAt ??= now()
      if (isOver) known.overAt ??= now()
    },
    enters: (submissionId) => {
      const all = entered.get(submissionId)
      if (all === undefined) entered.set(submissionId, [now()])
      else all.push(now())
    },
  }
}
