/** The kinds of submissions whose cost is told. */
import type { Schema } from "effect"

export interface Kind {
  readonly name: string
  readonly title: string
  readonly agent: string
  readonly input: typeof Schema.Json.Type
  readonly shape: "alone" | "full" | "new"
  readonly times: number
  /** Whether its caller waits for the settlement. */
  readonly waits: boolean
}

const halfMinute = 30_000
export const steps = { count: 5, waitMillis: 0 }
const call = { count: 1, waitMillis: halfMinute }
const sleep = { waitMillis: halfMinute }

const alone = { shape: "alone", waits: false } as const
const full = { shape: "full", waits: false } as const
const waited = { shape: "alone", waits: true } as const

export const kinds: ReadonlyArray<Kind> = [
  { name: "noop", title: "does nothing", agent: "noop", input: null, times: 20, ...alone },
  {
    name: "noop-full",
    title: "the same, in a full queue",
    agent: "noop",
    input: null,
    times: 100,
    ...full,
  },
  {
    name: "noop-new",
    title: "does nothing, the first of a new thread",
    agent: "noop",
    input: null,
    times: 20,
    shape: "new",
    waits: false,
  },
  {
    name: "noop-waited",
    title: "does nothing, its caller waits",
    agent: "noop",
    input: null,
    times: 20,
    ...waited,
  },
  { name: "steps", title: "5 steps", agent: "steps", input: steps, times: 20, ...alone },
  {
    name: "steps-full",
    title: "the same, in a full queue",
    agent: "steps",
    input: steps,
    times: 40,
    ...full,
  },
  {
    name: "call",
    title: "a step that waits 30 s for an answer from outside",
    agent: "steps",
    input: call,
    times: 1,
    ...alone,
  },
  {
    name: "call-full",
    title: "the same, in a full queue",
    agent: "steps",
    input: call,
    times: 4,
    ...full,
  },
  {
    name: "call-waited",
    title: "a step of 30 s, its caller waits",
    agent: "steps",
    input: call,
    times: 1,
    ...waited,
  },
  { name: "sleep", title: "`run.sleep` of 30 s", agent: "sleep", input: sleep, times: 1, ...alone },
  {
    name: "sleep-full",
    title: "the same, in a full queue",
    agent: "sleep",
    input: sleep,
    times: 4,
    ...full,
  },
  {
    name: "sleep-waited",
    title: "`run.sleep` of 30 s, its caller waits",
    agent: "sleep",
    input: sleep,
    times: 1,
    ...waited,
  },
]

/** Whether one of them takes half a minute. */
export const isLong = ({ agent, input }: Kind): boolean =>
  agent === "sleep" || (agent === "steps" && input === call)
