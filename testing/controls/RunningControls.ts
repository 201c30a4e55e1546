/** Controls of the limits of agents. */
import type { Plan } from "../Plan.ts"
import type { Control } from "./Control.ts"
import { step, submits, world } from "./Worlds.ts"

const works = [step("s", { takesMillis: 20_000 })]

/** One of the first agent may run, and two of the second. */
const limited = (given: Partial<Plan> = {}): Plan =>
  world({
    running: { v2: { first: 1, second: 2 } },
    operations: [
      submits(0, "k0", works),
      submits(1_000, "k1", works, { thread: 1 }),
      submits(2_000, "k2", works, { thread: 2 }),
    ],
    ...given,
  })

export const runningControls: ReadonlyArray<Control> = [
  {
    name: "the limit of an agent holds nobody",
    invariant: "Agent limits",
    edits: [
      {
        file: "owner-object/Select.ts",
        find: "if (agent !== undefined && left <= 0) return",
        replace: "if (agent !== undefined && left < -9) return",
      },
    ],
    pinned: limited(),
  },
  {
    name: "the end of a run frees nobody of its agent",
    invariant: "I19",
    edits: [
      {
        file: "owner-object/Block.ts",
        find: "if (ended !== undefined && ended !== started && roomOf(block, ended) > 0 && holds(block, ended))",
        replace: "if (ended !== undefined && ended === started && roomOf(block, ended) > 0)",
      },
    ],
    pinned: limited(),
  },
  {
    name: "who is held waits until two may run",
    invariant: "I7",
    edits: [
      {
        file: "owner-object/AgentLimits.ts",
        find: "heldAgents(counting.host.storage.sql).filter(({ agent }) => roomOf(counting, agent) > 0)",
        replace:
          "heldAgents(counting.host.storage.sql).filter(({ agent }) => roomOf(counting, agent) > 1)",
      },
    ],
    pinned: limited(),
  },
  {
    name: "a turn starts whatever is next in its thread",
    invariant: "Agent limits",
    edits: [
      {
        file: "thread-actors/Claim.ts",
        find: `if (head.state !== "running" && turn.notAgents.includes(head.agent)) return nothing`,
        replace: `if (head.state === "running" && turn.notAgents.includes(head.agent)) return nothing`,
      },
    ],
    // Behind one of the second agent stands one of the first, of which as many run as may.
    pinned: limited({
      operations: [
        submits(0, "k0", works),
        submits(1_000, "k1", [step("s", { takesMillis: 50 })], { thread: 1, agent: "second" }),
        submits(1_001, "k2", works, { thread: 1 }),
      ],
    }),
  },
]
