/**
 * One stream of a page, for as long as the page is looked at: opened again when it is lost, from where it was.
 *
 * - L1 One stream at a time, and none while nobody looks: a page in the background holds no object awake.
 * - L2 What was lost is opened again after a growing pause; the reader sees that, and can have it at once.
 * - L3 A token that is not taken any more stops it until there is another one. What is denied is not asked again with the same
 *   one, unless the reader says so.
 * - L4 What was told while it did not stand is missed, and the page hears so when it stands again.
 */
import { effect, signal, type Signal } from "@preact/signals"
import { pauseMillis, restMillis } from "../lib/Backoff.ts"
import { isFinal } from "../lib/Final.ts"
import { noticed } from "./Deployment.ts"
import { present, visible } from "./Now.ts"
import { refused, token, tokenCount } from "./Session.ts"
import { until, untilVisible } from "./Until.ts"

export type LiveState =
  | { readonly _tag: "Connecting" }
  | { readonly _tag: "Live" }
  /** Nothing changed for long: it is looked at now and then. */
  | { readonly _tag: "Resting" }
  | { readonly _tag: "Waiting"; readonly retryAt: number }
  | { readonly _tag: "Away" }
  | { readonly _tag: "Expired" }
  | { readonly _tag: "Refused" }

export interface LiveOptions<Frame> {
  readonly open: (signal: AbortSignal) => AsyncIterable<Frame>
  readonly take: (frame: Frame) => void
  /** It stands again, or at last: what is on the page may be older than its first frame. */
  readonly regained?: () => void
  /** Whether anything changed since the stream ended for want of news. Without it, it is opened again at once. */
  readonly anyNews?: (signal: AbortSignal) => Promise<boolean>
}

export interface Live {
  readonly state: Signal<LiveState>
  /** What it failed with last, until it stands: it outlives the tries that follow. */
  readonly failure: Signal<unknown>
  /** Ends the pause, or the present connection, and opens it anew. */
  readonly again: () => void
  readonly stop: () => void
}

/** How long a page may be out of sight before its stream ends: a glance elsewhere costs nothing. */
const awayMillis = 20_000

/** Resolves when the time is over, or the signal is aborted. */
const pause = (millis: number, ended: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, millis)
    ended.addEventListener(
      "abort",
      () => {
        clearTimeout(timer)
        resolve()
      },
      { once: true },
    )
    if (ended.aborted) resolve()
  })

interface Course {
  readonly ended: AbortSignal
  readonly state: Signal<LiveState>
  readonly failure: Signal<unknown>
  /** How often it was opened. */
  openings: number
  /** Aborted to have the present step over with; made anew for each. */
  step: AbortController
}

const stepOf = (course: Course): AbortSignal => {
  course.step = new AbortController()
  return AbortSignal.any([course.ended, course.step.signal])
}

/** Ends the step once the page was out of sight for a while. // L1 */
const leavingWhenAway = (course: Course): (() => void) => {
  const { step } = course
  let timer: ReturnType<typeof setTimeout> | undefined
  const dispose = effect(() => {
    clearTimeout(timer)
    if (!visible.value) timer = setTimeout(() => step.abort(), awayMillis)
  })
  return () => {
    clearTimeout(timer)
    dispose()
  }
}

/** The first frame of a connection. */
const stand = <Frame>(course: Course, { regained }: LiveOptions<Frame>): void => {
  course.failure.value = undefined
  course.state.value = { _tag: "Live" }
  if (course.openings > 1) regained?.() // L4
}

/** Reads the stream to its end. Gives what it failed with, if it did. */
const read = async <Frame>(course: Course, options: LiveOptions<Frame>): Promise<unknown> => {
  const leaving = stepOf(course)
  const used = token.value
  const stay = leavingWhenAway(course)
  course.openings += 1
  let stands = false
  try {
    for await (const frame of options.open(leaving)) {
      if (course.ended.aborted) return undefined
      if (!stands) stand(course, options)
      stands = true
      options.take(frame)
    }
    return undefined
  } catch (error) {
    return leaving.aborted ? undefined : noticed(error, used)
  } finally {
    stay()
  }
}

/** Looks now and then until there is news. */
const rest = async <Frame>(course: Course, { anyNews }: LiveOptions<Frame>): Promise<void> => {
  if (anyNews === undefined) return
  for (let nth = 1; !course.ended.aborted; nth++) {
    course.state.value = { _tag: "Resting" }
    await pause(restMillis(nth), stepOf(course))
    if (course.step.signal.aborted) return
    await untilVisible(course.ended)
    if (await anyNews(course.ended).catch(() => true)) return
  }
}

/** Until there is another token, or the reader has it tried with this one. // L3 */
const anotherToken = (course: Course): Promise<void> => {
  const before = tokenCount.peek()
  return until(() => tokenCount.value !== before, stepOf(course))
}

/** What follows a failure. */
const recover = async (course: Course, error: unknown, failures: number): Promise<void> => {
  course.failure.value = error
  if (isFinal(error)) {
    course.state.value = { _tag: "Refused" }
    return anotherToken(course)
  }
  if (refused.value !== undefined) {
    course.state.value = { _tag: "Expired" }
    return anotherToken(course)
  }
  const millis = pauseMillis(failures, Math.random())
  course.state.value = { _tag: "Waiting", retryAt: present() + millis } // L2
  return pause(millis, stepOf(course))
}

/** A stream that stood so long was none that fails at once, as that of a damaged thread does behind its first frame. */
const steadyMillis = 5_000

const run = async <Frame>(course: Course, options: LiveOptions<Frame>): Promise<void> => {
  let failures = 0
  while (!course.ended.aborted) {
    if (!visible.value) {
      course.state.value = { _tag: "Away" } // L1
      await untilVisible(course.ended)
    }
    course.state.value = { _tag: "Connecting" }
    const openedAt = performance.now()
    const error = await read(course, options)
    if (course.ended.aborted) return
    const stood = (course.state.value as LiveState)._tag === "Live"
    if (stood && performance.now() - openedAt >= steadyMillis) failures = 0 // L2
    if (error !== undefined) {
      failures += 1
      await recover(course, error, failures)
    } else if (!course.step.signal.aborted) await rest(course, options)
  }
}

/** Starts it; it goes on until it is stopped. */
export const startLive = <Frame>(options: LiveOptions<Frame>): Live => {
  const ending = new AbortController()
  const course: Course = {
    ended: ending.signal,
    state: signal<LiveState>({ _tag: "Connecting" }),
    failure: signal<unknown>(undefined),
    openings: 0,
    step: new AbortController(),
  }
  void run(course, options)
  return {
    state: course.state,
    failure: course.failure,
    again: () => course.step.abort(),
    stop: () => ending.abort(),
  }
}
