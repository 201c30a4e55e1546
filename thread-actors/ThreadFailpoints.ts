/** The failpoints of a thread: one per durable block, each reached `:before` and `:after` it. */
export const threadFailpoints = [
  "admit",
  "admitMany",
  "resubmit",
  "claim",
  "apply",
  "step",
  "state",
  "progress",
  "prepare",
  "settleTool",
  "wait",
  "suspend",
  "settle",
  "abort",
  "resolve",
  "decide",
  "recover",
  "retry",
  "pause",
  "fence",
  "forget",
  "report",
] as const

export type ThreadFailpoint = (typeof threadFailpoints)[number]
