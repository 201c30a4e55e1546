/** What operators read of waits: explain's words, recovery's decisions, and verify. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, drain, go, makeWorld } from "./harness.ts"
import { operate, taken } from "./operators.ts"
import { dispatched, hour, outside } from "./waits.ts"

const json = { input: Schema.Json, output: Schema.Json }

const All = Agent.make("all", json).handler(
  Effect.fn(function* (_, run) {
    yield* run.callback("its hook")
    yield* run.race("first", {
      all: Effect.all(
        [
          run.approval("ask", { summary: "Refund 10?", expires: "1 hour" }),
          run.waitFor("its hook", Schema.Json),
          run.waitFor("plain", Schema.Json, { timeout: "2 hours" }),
        ],
        { concurrency: 3 },
      ),
      nap: run.sleep("nap", "30 minutes"),
    })
    return 1
  }),
)

const suspended = async () => {
  const world = makeWorld({ agents: [All] })
  const { submissionId } = await accepted(world.admit("all", 1))
  expect(await dispatched(world)).toBe("Suspended")
  return { world, submissionId, ...operate(world), ...outside(world) }
}

describe("explain", () => {
  it("names each wait, since and until when, who can act, and the command that ends it", async () => {
    const { explain, submissionId, world } = await suspended()
    const [told] = await explain(submissionId)
    const { now } = world.time
    const at = (millis: number) => new Date(now + millis).toISOString()
    const command = `order-1 ${submissionId}`
    expect(told?.waits).toEqual([
      expect.objectContaining({
        blocker: "approval",
        name: "ask",
        sinceAt: now,
        untilAt: now + hour,
        whoCanAct: "caller",
        message: `It asks "Refund 10?". It expires at ${at(hour)}. Say \`heddle approve ${command} ask\` or \`heddle deny ${command} ask\`.`,
      }),
      {
        blocker: "signal",
        name: "its hook",
        sinceAt: now,
        whoCanAct: "caller",
        message: `It waits for a value from outside. Say \`heddle signal ${command} 'its hook' --payload JSON\`, or whoever was given its callback token calls back.`,
      },
      {
        blocker: "timer",
        name: "nap",
        sinceAt: now,
        untilAt: now + hour / 2,
        whoCanAct: "nobody",
        message: "Its agent has it sleep until then; it goes on by itself.",
      },
      {
        blocker: "signal",
        name: "plain",
        sinceAt: now,
        untilAt: now + 2 * hour,
        whoCanAct: "caller",
        message: `It waits for a value from outside. It expires at ${at(2 * hour)}. Say \`heddle signal ${command} plain --payload JSON\`.`,
      },
    ])
  })

  it.each([
    ["approval", "AwaitApproval"],
    ["signal", "AwaitSignal"],
    ["timer", "AwaitTimer"],
  ])(
    "decides for the oldest wait, %s: %s, and recovery changes nothing",
    async (kind, decision) => {
      const live = Agent.make("one", json).handler(
        Effect.fn(function* (_, run) {
          if (kind === "approval") yield* run.approval("w", { summary: "?" })
          else if (kind === "signal") yield* run.waitFor("w", Schema.Json)
          else yield* run.sleep("w", "1 hour")
          return 1
        }),
      )
      const world = makeWorld({ agents: [live] })
      const { submissionId } = await accepted(world.admit("one", 1))
      await dispatched(world)
      const before = world.storage.dump()
      expect(await operate(world).explain(submissionId)).toMatchObject([
        { decision, disposition: "deferred", waits: [{ blocker: kind, name: "w" }] },
      ])
      const { result } = await go(world.recover())
      expect(result).toMatchObject({ value: [{ decision, disposition: "deferred" }] })
      expect(world.storage.dump()).toBe(before)
    },
  )

  it("tells of a timer that is due that it resumes the run", async () => {
    const { explain, submissionId, world } = await suspended()
    world.time.now += hour
    await go(world.inspect())
    expect(await explain(submissionId)).toMatchObject([{ decision: "Resume" }])
  })
})

describe("verify", () => {
  const failed = async (verify: ReturnType<typeof operate>["verify"]) => {
    const { checks } = await verify()
    return checks.flatMap((check) => (check._tag === "Failed" ? [check.detail] : []))
  }

  it("passes a run that waits, one that was answered, and one that has settled", async () => {
    const { decide, signal, submissionId, verify, world } = await suspended()
    expect(await failed(verify)).toEqual([])
    await taken(signal(submissionId, "its hook", 1))
    expect(await failed(verify)).toEqual([])
    await taken(decide(submissionId, "ask", true))
    await drain(world)
    expect(await failed(verify)).toEqual([])
  })

  it.each([
    ["DELETE FROM waits WHERE name = 'ask'", /ApprovalRequested\): no wait takes its answer/],
    ["DELETE FROM waits", /no wait takes its answer/],
    ["UPDATE waits SET kind = 'timer' WHERE name = 'ask'", /asked for as something else/],
    ["UPDATE waits SET races = 'x' WHERE name = 'ask'", /its races do not decode/],
    ["UPDATE waits SET submission = 9", /its submission has settled/],
    ["UPDATE waits SET dueAt = 5 WHERE name = 'nap'", /beyond its first timer/],
    ["UPDATE waits SET sinceAt = 'x'", /a column holds what it is not for/],
    ["UPDATE callbacks SET digest = 'x'", /its record is another/],
    ["UPDATE callbacks SET submission = 9", /its record is another/],
    [
      `INSERT INTO waits (submission, name, kind, sinceAt, sole) VALUES (1, 'new', 'approval', 1, 0)`,
      /never asked for/,
    ],
  ])("finds what %s does", async (statement, detail) => {
    const { verify, world } = await suspended()
    world.storage.sql.run(statement)
    const found = await failed(verify)
    expect(found).toHaveLength(1)
    expect(found[0]).toMatch(detail)
  })
})
