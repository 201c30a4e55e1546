import { Deferred, Effect, Layer, Schema } from "effect"
import { describe, expect, it } from "vitest"
import type { RecoveryExplanation } from "../../../contracts/Explain.ts"
import type { SubmissionId } from "../../../contracts/Identifiers.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { evidenceLines, unknownMessage } from "../../../thread-actors/ExplainWords.ts"
import { accepted, drain, go, makeWorld, until, type World } from "./harness.ts"
import { operate, taken } from "./operators.ts"
import { type Answer, makeCase, overMillis } from "./reconcilers.ts"

const io = { input: Schema.String, output: Schema.String }
const hour = 3_600_000
const nobody = "018f0000-0000-7000-8000-000000000009" as SubmissionId

const echo = Agent.make("echo", io).handler((input) => Effect.succeed(input))
const hangs = Agent.make("hangs", io).handler(() => Effect.never)
const stubborn = Agent.make("stubborn", io).handler(() => Effect.uninterruptible(Effect.never))
const flaky = Agent.make("flaky", {
  ...io,
  error: Schema.String,
  retry: { times: 3, delay: "1 hour", maxDelay: "1 hour" },
}).handler(() => Effect.fail("not yet"))

const Paid = Schema.Struct({ id: Schema.String })

type Said = { readonly _tag: "Uncertain" | "NeverStarted" } | "fails"

/** Makes two ordinary calls at once, which never come back; what their reconcilers say can be changed. */
const makePayer = () => {
  const says: { first: Said; second: Said } = {
    first: { _tag: "Uncertain" },
    second: { _tag: "Uncertain" },
  }
  const tool = (which: "first" | "second") =>
    Agent.tool(`pay ${which}`, {
      result: Paid,
      execution: "ordinary",
      timeout: "1 minute",
      reconcile: () =>
        Effect.suspend(() => {
          const said = says[which]
          return said === "fails" ? Effect.die("no answer") : Effect.succeed(said)
        }),
    })
  const first = tool("first")
  const second = tool("second")
  const one = Agent.make("one", io).handler(
    (_input, run) =>
      Effect.map(
        run.tool("the call", first, Effect.never, { request: { amount: 7 } }),
        ({ id }: typeof Paid.Type) => id,
      ),
    { tools: [first] },
  )
  const two = Agent.make("two", io).handler(
    (_input, run) =>
      Effect.as(
        Effect.all([run.tool("a", first, Effect.never), run.tool("b", second, Effect.never)], {
          concurrency: "unbounded",
        }),
        "both",
      ),
    { tools: [first, second] },
  )
  return { says, agents: [one, two, echo] }
}

/** Explains, and shows that this wrote nothing. */
const explained = async (
  world: World,
  submissionId?: SubmissionId,
): Promise<ReadonlyArray<RecoveryExplanation>> => {
  const changes = () => world.storage.sql.all("SELECT total_changes() AS changes")
  const before = { dump: world.storage.dump(), changes: changes() }
  const { explain, verify } = operate(world)
  const found = await explain(submissionId)
  const reply = await verify()
  expect(reply.checks.filter(({ _tag }) => _tag === "Failed")).toEqual([])
  expect({ dump: world.storage.dump(), changes: changes() }).toEqual(before)
  return found
}

const only = (found: ReadonlyArray<RecoveryExplanation>): RecoveryExplanation => {
  const [first, ...rest] = found
  if (first === undefined || rest.length > 0) throw new Error(`found ${JSON.stringify(found)}`)
  return first
}

/** What recovery then reports is what was explained. */
const expectSame = async (world: World, found: ReadonlyArray<RecoveryExplanation>) => {
  const { result } = await go(world.recover())
  if (result._tag === "Failure") throw result.error
  expect(
    found.map(({ decision, disposition, submissionId }) => ({
      submissionId,
      decision,
      disposition,
    })),
  ).toEqual(result.value)
}

const lose = async (world: World, extra: Parameters<World["crash"]>[0] = {}) => {
  await go(world.process({ attentionMillis: 2 }))
  world.crash(extra)
}

type Told = Pick<RecoveryExplanation, "decision" | "disposition" | "waits"> & {
  readonly evidence: string
}

interface Scene {
  readonly title: string
  /** Brings a thread into the state. */
  readonly play: () => Promise<World>
  readonly decisions: ReadonlyArray<Told["decision"]>
  /** What is told of the first one. */
  readonly says: ReadonlyArray<string>
  readonly waits?: ReadonlyArray<object>
}

const scenes: ReadonlyArray<Scene> = [
  {
    title: "a queue",
    play: async () => {
      const world = makeWorld({ agents: [echo] })
      for (const input of ["a", "b"]) await accepted(world.admit("echo", input))
      return world
    },
    decisions: ["ApplyInput", "ApplyInput"],
    says: ["It is ready", "No attempt has claimed it yet.", "It is the next one of its thread."],
    waits: [],
  },
  {
    title: "a deferred one",
    play: async () => {
      const world = makeWorld({ agents: [echo] })
      await accepted(world.admit("echo", "a", { notBefore: world.time.now + hour }))
      return world
    },
    decisions: ["AwaitDue"],
    says: ["Its caller deferred it to 2027-01-15T09:00:00.000Z."],
    waits: [{ blocker: "timer", untilAt: 1_800_000_000_000 + hour, whoCanAct: "nobody" }],
  },
  {
    title: "a run that rests between its attempts",
    play: async () => {
      const world = makeWorld({ agents: [flaky, echo] })
      await accepted(world.admit("flaky", "a"))
      await accepted(world.admit("echo", "b"))
      await go(world.process())
      return world
    },
    decisions: ["AwaitDue", "ApplyInput"],
    says: ["It was claimed once.", "It rests until", "The run has failed once and is tried again"],
    waits: [
      {
        blocker: "timer",
        untilAt: 1_800_000_000_000 + hour,
        whoCanAct: "nobody",
        message: expect.stringContaining("`retry`") as string,
      },
    ],
  },
  {
    title: "a run whose attempt lives here",
    play: async () => {
      const world = makeWorld({ agents: [hangs] })
      await accepted(world.admit("hangs", "a"))
      await go(world.process({ attentionMillis: 2 }))
      return world
    },
    decisions: ["AwaitAttempt"],
    says: ["Its attempt runs in this object since 2027-01-15T08:00:00.000Z."],
    waits: [],
  },
  {
    title: "a run that was told to end",
    play: async () => {
      const world = makeWorld({ agents: [stubborn] })
      const { submissionId } = await accepted(world.admit("stubborn", "a"))
      await go(world.process({ attentionMillis: 2 }))
      await go(world.abort(submissionId))
      return world
    },
    decisions: ["AwaitAttempt"],
    says: [`"ann" asked to abort it: "sent twice". Its attempt was told to end.`],
    waits: [],
  },
  {
    title: "a run whose attempt was lost",
    play: async () => {
      const world = makeWorld({ agents: [hangs, echo] })
      await accepted(world.admit("hangs", "a"))
      await accepted(world.admit("echo", "b"))
      await lose(world)
      return world
    },
    decisions: ["ResumeRun", "ApplyInput"],
    says: ["No attempt of it runs in this object."],
    waits: [],
  },
  {
    title: "a run that was lost after it was told to end",
    play: async () => {
      const world = makeWorld({ agents: [stubborn] })
      const { submissionId } = await accepted(world.admit("stubborn", "a"))
      await go(world.process({ attentionMillis: 2 }))
      await go(world.abort(submissionId))
      world.crash()
      return world
    },
    decisions: ["SettleAborted"],
    says: [`"ann" asked to abort it: "sent twice".`],
    waits: [],
  },
  {
    title: "a lost call that may still be under way",
    play: async () => {
      const world = makeWorld({ agents: makePayer().agents })
      await accepted(world.admit("one", "a"))
      await lose(world)
      return world
    },
    decisions: ["AwaitCall"],
    says: [
      `Its call "the call" of tool "pay first" was begun at 2027-01-15T08:00:00.000Z`,
      "it is looked at from 2027-01-15T08:01:35.000Z on",
    ],
    waits: [
      {
        blocker: "timer",
        name: "the call",
        sinceAt: 1_800_000_000_000,
        untilAt: 1_800_000_095_000,
        whoCanAct: "nobody",
        message: expect.stringContaining("may still be under way") as string,
      },
    ],
  },
  {
    title: "a lost call that is over",
    play: async () => {
      const { agents, says } = makePayer()
      says.first = { _tag: "NeverStarted" }
      const world = makeWorld({ agents })
      await accepted(world.admit("one", "a"))
      await lose(world)
      world.time.now += 95_000
      return world
    },
    decisions: ["Reconcile"],
    says: ["it is over"],
    waits: [],
  },
  {
    title: "a call whose reconciler could not tell, beside one that nobody knows about",
    play: async () => {
      const { agents, says } = makePayer()
      says.second = "fails"
      const world = makeWorld({ agents })
      await accepted(world.admit("two", "a"))
      await lose(world)
      world.time.now += 95_000
      await go(world.recover())
      return world
    },
    decisions: ["AwaitCall"],
    says: ["that is unknown since", "its reconciler has failed once"],
    waits: [
      { blocker: "unknown", name: "a", whoCanAct: "operator" },
      {
        blocker: "timer",
        name: "b",
        untilAt: 1_800_000_100_000,
        whoCanAct: "deployer",
        message: expect.stringMatching(
          /is over\. Its reconciler has failed once and is asked again at 2027-01-15T08:01:40\.000Z; after 8 /,
        ) as string,
      },
    ],
  },
  {
    title: "a call whose reconciler cannot be asked, as the services do not start",
    play: async () => {
      const { agents } = makePayer()
      const world = makeWorld({ agents })
      await accepted(world.admit("one", "a"))
      await lose(world, { services: Layer.effectDiscard(Effect.die("no database")) })
      world.time.now += 95_000
      await go(world.recover())
      return world
    },
    decisions: ["AwaitCall"],
    says: ["it is looked at from 2027-01-15T08:02:35.000Z on."],
    waits: [
      {
        blocker: "timer",
        name: "the call",
        untilAt: 1_800_000_155_000,
        whoCanAct: "deployer",
        message: expect.stringContaining("Its reconciler could not be asked") as string,
      },
    ],
  },
  {
    title: "a call whose tool this deployment lacks",
    play: async () => {
      const world = makeWorld({ agents: makePayer().agents })
      await accepted(world.admit("one", "a"))
      await lose(world, { agents: [echo] })
      world.time.now += 95_000
      return world
    },
    decisions: ["AwaitCall"],
    says: ["this deployment lacks the tool"],
    waits: [{ blocker: "binding", name: "pay first", whoCanAct: "deployer" }],
  },
  {
    title: "a parked one, and later input",
    play: async () => {
      const world = makeWorld({ agents: makePayer().agents })
      await accepted(world.admit("one", "a"))
      await lose(world)
      world.time.now += 95_000
      await go(world.recover())
      await accepted(world.admit("echo", "b"))
      return world
    },
    decisions: ["AwaitResolution", "ApplyInput"],
    says: ["It is unknown", "that is unknown since 2027-01-15T08:01:35.000Z."],
  },
  {
    title: "a parked one about which the word was given",
    play: async () => {
      const world = makeWorld({ agents: makePayer().agents })
      const { submissionId } = await accepted(world.admit("one", "a"))
      await lose(world)
      world.time.now += 95_000
      await go(world.recover())
      const [wait] = only(await operate(world).explain()).waits
      if (wait?.recordId === undefined) throw new Error("nothing waits")
      await taken(
        operate(world).resolve(
          { submissionId, recordId: wait.recordId },
          { _tag: "NeverHappened" },
        ),
      )
      return world
    },
    decisions: ["ApplyInput"],
    says: ["It is ready", "It is the next one of its thread."],
    waits: [],
  },
  {
    title: "one whose agent this deployment lacks",
    play: async () => {
      const world = makeWorld({ agents: [echo] })
      await accepted(world.admit("echo", "a"))
      world.crash({ agents: [hangs] })
      return world
    },
    decisions: ["ApplyInput"],
    says: ["It is ready"],
    waits: [{ blocker: "binding", name: "echo", whoCanAct: "deployer" }],
  },
]

describe("explain", () => {
  it.each(scenes)("tells of $title what recovery then does, and writes nothing", async (scene) => {
    const world = await scene.play()
    const found = await explained(world)
    expect(found.map(({ decision }) => decision)).toEqual(scene.decisions)
    const first = found[0]
    for (const says of scene.says) expect(first?.evidence.join("\n")).toContain(says)
    if (scene.waits !== undefined) {
      expect(first?.waits).toMatchObject(scene.waits)
      expect(first?.waits).toHaveLength(scene.waits.length)
    }
    for (const one of found) {
      expect(one.heldBy).toEqual([])
      expect(one.wouldDo).toMatch(/\.$/)
    }
    await expectSame(world, found)
  })

  it("tells of an unknown call which, with what request, since when, and how to end it", async () => {
    const world = makeWorld({ agents: makePayer().agents })
    const { sequence, submissionId } = await accepted(world.admit("one", "a"))
    await lose(world)
    world.time.now += 95_000
    await go(world.recover())
    const sinceAt = world.time.now
    world.time.now += hour
    const found = only(await explained(world))
    expect(found).toMatchObject({
      submissionId,
      sequence,
      agent: "one",
      state: "unknown",
      attempts: 1,
      acceptedAt: 1_800_000_000_000,
      disposition: "unknown",
    })
    const [wait] = found.waits
    const record = (await go(world.history())).records.find(({ kind }) => kind === "ToolUnknown")
    const { recordId } = (record?.payload ?? {}) as { recordId?: string }
    expect(wait).toEqual({
      blocker: "unknown",
      name: "the call",
      recordId,
      sinceAt,
      whoCanAct: "operator",
      message: expect.any(String) as string,
    })
    for (const part of [
      `The call "the call" of tool "pay first"`,
      `It was given {"amount":7}.`,
      `resolveUnknown\` and recordId ${recordId}`,
    ])
      expect(wait?.message).toContain(part)
  })

  it("counts as lost the attempts that are lost, whatever is charged for the one that runs", async () => {
    const world = makeWorld({ agents: [hangs] })
    await accepted(world.admit("hangs", "a"))
    const lostIn = async () => {
      const evidence = only(await operate(world).explain()).evidence
      return evidence.filter((line) => /lost|claimed/.test(line))
    }
    const start = async () => {
      world.time.now += hour
      await go(world.process({ attentionMillis: 2 }))
    }
    const one = "The attempt was lost with its object."
    await start()
    expect(await lostIn()).toEqual(["It was claimed once."])
    world.crash()
    expect(await lostIn()).toEqual(["It was claimed once.", one])
    await go(world.recover())
    expect(await lostIn()).toEqual(["It was claimed once.", one])
    await start()
    expect(await lostIn()).toEqual([
      "It was claimed 2 times.",
      "The attempt before this one was lost with its object.",
    ])
    const two = "Its last attempts were lost with their object, 2 times in a row."
    world.crash()
    expect(await lostIn()).toEqual(["It was claimed 2 times.", two])
    await go(world.recover())
    await start()
    expect(await lostIn()).toEqual(["It was claimed 3 times.", two])
  })

  it("counts the failures of a reconciler, and the one that looks now is none", async () => {
    const look = { now: Effect.never as Effect.Effect<Answer> }
    const { world } = makeCase(() => look.now, { limits: { attentionMillis: 5 } })
    await accepted(world.admit("agent", "a"))
    await lose(world)
    const told = async () => {
      const { evidence, waits } = only(await operate(world).explain())
      return { line: evidence.find((line) => line.startsWith("Its call")), waits }
    }
    world.time.now += overMillis
    await go(world.recover())
    expect((await told()).line).toMatch(/outcome; it is over; its reconciler looks now\.$/)
    expect((await told()).waits).toEqual([])
    world.crash()
    look.now = Effect.die("no answer")
    for (const failed of ["2 times", "3 times"]) {
      await go(world.recover())
      const { line, waits } = await told()
      expect(line).toMatch(new RegExp(`on; its reconciler has failed ${failed}\\.$`))
      expect(waits).toMatchObject([
        {
          blocker: "timer",
          whoCanAct: "deployer",
          message: expect.stringContaining(`Its reconciler has failed ${failed} and is`) as string,
        },
      ])
      world.time.now += hour
      expect((await told()).line).toMatch(
        new RegExp(`is over; its reconciler has failed ${failed}`),
      )
    }
    look.now = Effect.never
    await go(world.recover())
    expect((await told()).line).toMatch(/has failed 3 times; its reconciler looks now\.$/)
  })

  it("tells who paused the thread, beside what each waits for itself", async () => {
    const world = makeWorld({ agents: [flaky, echo] })
    await accepted(world.admit("flaky", "a"))
    await accepted(world.admit("echo", "b"))
    await go(world.process())
    await taken(operate(world).pause())
    const found = await explained(world)
    for (const { heldBy } of found)
      expect(heldBy).toEqual([
        {
          blocker: "paused",
          sinceAt: world.time.now,
          whoCanAct: "operator",
          message:
            `"ann" paused the thread: "looking into it". It accepts input and starts nothing; ` +
            "`resumeThread` lets it go on.",
        },
      ])
    expect(found[0]?.waits).toHaveLength(1)
    await expectSame(world, found)
  })

  it("tells of one submission alone, of a settled one nothing, of a foreign one that it is none", async () => {
    const world = makeWorld({ agents: [echo] })
    const settled = await accepted(world.admit("echo", "a"))
    await go(world.process())
    const open = await accepted(world.admit("echo", "b"))
    await accepted(world.admit("echo", "c"))
    expect(only(await explained(world, open.submissionId))).toMatchObject({ sequence: 2 })
    expect(await explained(world, settled.submissionId)).toEqual([])
    const none = { _tag: "SubmissionNotFound", submissionId: nobody }
    await expect(operate(world).explain(nobody)).rejects.toMatchObject(none)
  })

  it("finds nothing in an untouched thread, and leaves it so", async () => {
    const world = makeWorld({ agents: [echo] })
    expect(await operate(world).explain()).toEqual([])
    await expect(operate(world).explain(nobody)).rejects.toMatchObject({
      _tag: "SubmissionNotFound",
    })
    expect(world.storage.sql.all("SELECT name FROM sqlite_schema")).toEqual([])
  })

  it("tells of a joined one what it waits for", async () => {
    const world = makeWorld({ agents: [echo, hangs] })
    await accepted(world.admit("hangs", "a"))
    const { submissionId } = await accepted(world.admit("echo", "b"))
    await go(world.process({ attentionMillis: 2 }))
    world.storage.sql.run("UPDATE submissions SET state = 'joined', host = 1 WHERE sequence = 2")
    const found = await operate(world).explain()
    expect(found.map(({ decision }) => decision)).toEqual(["AwaitAttempt", "AwaitHost"])
    expect(found[1]).toMatchObject({ submissionId, waits: [] })
    await expectSame(world, found)
  })

  it("finds a thread unreadable where recovery does", async () => {
    for (const broken of [
      "UPDATE submissions SET state = '?'",
      "UPDATE journal SET payload = '{' WHERE name IS NOT NULL",
      "UPDATE submissions SET abort = '?'",
    ]) {
      const world = makeWorld({ agents: makePayer().agents })
      await accepted(world.admit("one", "a"))
      await lose(world)
      world.storage.sql.run(broken)
      expect((await go(world.recover())).result).toMatchObject({
        error: { _tag: "ThreadUnreadable" },
      })
      await expect(operate(world).explain()).rejects.toMatchObject({ _tag: "ThreadUnreadable" })
    }
  })

  it.each([
    ["Resume", "UPDATE submissions SET state = 'suspended'", "DELETE FROM calls"],
    ["MarkUnknown", "UPDATE calls SET unknownAt = 7"],
    ["SettleWithHost", "UPDATE submissions SET state = 'joined', host = 1 WHERE sequence = 2"],
  ])("agrees with recovery on what no block leaves behind: %s", async (decision, ...rows) => {
    const world = makeWorld({ agents: makePayer().agents })
    if (decision === "SettleWithHost") {
      await accepted(world.admit("echo", "a"))
      await go(world.process())
    }
    await accepted(world.admit("one", "b"))
    await lose(world)
    for (const row of rows) world.storage.sql.run(row)
    const dump = world.storage.dump()
    const found = await operate(world).explain()
    expect(world.storage.dump()).toBe(dump)
    expect(only(found)).toMatchObject({ decision })
    await expectSame(world, found)
  })

  it("agrees with recovery at every step of a run that has everything happen to it", async () => {
    const { agents, says } = makePayer()
    const gate = Deferred.makeUnsafe<void>()
    const gated = Agent.make("gated", io).handler((input) => Effect.as(Deferred.await(gate), input))
    const world = makeWorld({ agents: [...agents, gated, flaky], limits: { reconcileTries: 2 } })
    await accepted(world.admit("two", "a"))
    await accepted(world.admit("flaky", "b"))
    await accepted(world.admit("gated", "c", { notBefore: world.time.now + 200_000 }))
    says.second = "fails"
    const seen = new Set<string>()
    for (let round = 0; round < 40; round++) {
      const found = await explained(world)
      for (const { decision } of found) seen.add(decision)
      // What asking comes to is not known before.
      if (found.some(({ decision }) => decision === "Reconcile")) await go(world.recover())
      else await expectSame(world, found)
      world.time.now += 7_000
      await go(world.process({ attentionMillis: 2 }))
      if (round % 3 === 0) world.crash()
    }
    Deferred.doneUnsafe(gate, Effect.void)
    expect([...seen].toSorted()).toEqual(
      expect.arrayContaining(["AwaitCall", "AwaitDue", "AwaitResolution", "Reconcile"]),
    )
    await until(
      "nothing runs",
      () => world.thread().isRunning(),
      (running) => !running,
    )
    await drain(world)
  })
})

describe("the words of an explanation", () => {
  it("are as long as the contract allows, whatever was written", () => {
    const long = "x".repeat(4_000)
    const call = {
      submission: 1,
      name: long,
      tool: long,
      part: 1,
      preparedAt: 0,
      deadlineAt: 0,
      tries: 0,
      unknownAt: 0,
      declared: true,
      isAsked: false,
    }
    const recordId = "0".repeat(32)
    const message = unknownMessage(call, recordId, long)
    expect(message.length).toBeLessThanOrEqual(1_024)
    expect(message).toContain(`recordId ${recordId}: CompletedWithResult`)
    expect(message).toContain("AbortSubmission.")
    const lines = evidenceLines({
      row: {
        sequence: 1,
        state: "ready",
        acceptedAt: 0,
        attempts: 1,
        ended: 0,
        vanished: 0,
        notBefore: null,
        dueAt: null,
      } as never,
      live: undefined,
      calls: [call],
      abort: { author: long, reason: "\ud83d\ude00".repeat(800), principal: long as never },
      retries: new Map([[long, { tries: 1, dueAt: 0 }]]),
      head: undefined,
      now: 0,
    })
    for (const line of lines) {
      expect(line.length).toBeLessThanOrEqual(1_024)
      expect(line.isWellFormed()).toBe(true)
    }
  })
})
