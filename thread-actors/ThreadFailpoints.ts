/** The failpoints of a thread: one per durable block, each reached `:before` and `:after` it. */
export const threadFailpoints = [
  "admit",
  "claim",
  "apply",
  "step",
  "state",
  "progress",
  "settle",
  "abort",
  "recover",
  "fence",
  "report",
] as const

export type ThreadFailpoint = (typeof threadFailpoints)[number]
