/**
 * What a log may say: for each place that tells of something thrown, nothing of its message, its stack or SQL, and whose
 * thread and run it is about.
 */
import { Effect, Layer, Logger, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { consoleLines } from "../consoleLines.ts"
import { describeThrown } from "../../../contracts/Thrown.ts"
import { StorageFailure } from "../../../platform/ObjectStorage.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { logCause } from "../../../thread-actors/Failures.ts"
import { accepted, drain, go, makeWorld, ownerId, threadId, until, type World } from "./harness.ts"
import { lose } from "./calls.ts"
import { makeCase, overMillis } from "./reconcilers.ts"

const secret = "4111-secret"
const broken = () =>
  Object.assign(new Error(`SELECT ${secret} FROM cards\n    at ${secret} (${secret}.ts:1:1)`), {
    request: secret,
  })

/** Everything that reaches the console, where the default logger writes. */
const lines = consoleLines()

/** The lines with these words, once there are any; all of the log holds nothing it may not. */
const told = async (words: string): Promise<ReadonlyArray<string>> => {
  const found = () => lines.filter((line) => line.includes(words))
  await until(`a line with ${words}`, found, (some) => some.length > 0)
  for (const line of lines) {
    expect(line).not.toContain(secret)
    expect(line).not.toMatch(/SELECT|INSERT|UPDATE|\n\s+at |node_modules/)
  }
  return found()
}

const expectAbout = (line: string | undefined, submissionId?: string) => {
  for (const part of [ownerId, threadId, ...(submissionId === undefined ? [] : [submissionId])])
    expect(line).toContain(part)
}

const io = { input: Schema.String, output: Schema.String }
const agentOf = (name: string, body: Effect.Effect<string>) =>
  Agent.make("agent", io).handler((_input, run) =>
    name === "" ? body : run.step(name, Schema.String, body),
  )

/** From now on these statements throw what a database might. */
const failing = (world: World, use: "all" | "run", statements: RegExp) => {
  const { sql } = world.storage as unknown as { sql: Record<string, unknown> }
  const real = sql[use] as (statement: string, ...rest: ReadonlyArray<unknown>) => unknown
  sql[use] = (statement: string, ...rest: ReadonlyArray<unknown>) => {
    if (statements.test(statement)) throw new StorageFailure(broken())
    return real(statement, ...rest)
  }
}

describe("a line of a thread's log about something thrown tells its name and place, and of whom", () => {
  it("for a defect of a handler and of a step", async () => {
    for (const name of ["", "one"]) {
      lines.length = 0
      const body = Effect.suspend(() => Effect.die(broken()))
      const world = makeWorld({ agents: [agentOf(name, body)] })
      const { submissionId } = await accepted(world.admit("agent", secret))
      await drain(world)
      const [line] = await told("Error at ")
      expect(line).toMatch(/broken \(logs\.test\.ts:\d+\)/)
      expectAbout(line, submissionId)
    }
  })

  it("for a reconciler, and a call whose outcome nobody knows", async () => {
    const { world } = makeCase(() => Effect.die(broken()))
    const { submissionId } = await accepted(world.admit("agent", secret))
    await lose(world)
    world.time.now += overMillis
    await go(world.recover())
    expectAbout((await told("The reconciler of tool payment gave no answer"))[0], submissionId)
  })

  it("for services that do not start", async () => {
    const services = Layer.effectDiscard(Effect.die(broken()))
    const world = makeWorld({ agents: [agentOf("", Effect.succeed(""))], services })
    await accepted(world.admit("agent", secret))
    await go(Effect.exit(world.process()))
    expectAbout((await told("services of the agents could not start"))[0])
  })

  it("for storage that fails under a call, a run and its end, and at the start", async () => {
    const idle = makeWorld({ agents: [agentOf("one", Effect.succeed("x"))] })
    await accepted(idle.admit("agent", secret))
    failing(idle, "run", /INSERT INTO submissions/)
    await go(Effect.exit(idle.admit("agent", secret)))
    const [line] = await told("The thread's storage failed in admit: StorageFailure at")
    expectAbout(line)
    expect(line).toMatch(/because of Error at broken \(logs\.test\.ts:\d+\)/)

    const world = makeWorld({ agents: [agentOf("one", Effect.succeed("x"))] })
    const { submissionId } = await accepted(world.admit("agent", secret))
    failing(world, "all", /SELECT kind, payload/)
    await go(Effect.exit(world.process()))
    expectAbout((await told("storage failed under a run: StorageFailure"))[0], submissionId)

    const ending = makeWorld({ agents: [agentOf("", Effect.succeed("x"))] })
    const other = await accepted(ending.admit("agent", secret))
    failing(ending, "run", /state = 'settled'/)
    await go(Effect.exit(ending.process()))
    expectAbout(
      (await told("The end of an attempt could not be written: StorageFailure"))[0],
      other.submissionId,
    )

    world.crash()
    failing(world, "all", /sqlite_schema/)
    await go(Effect.exit(world.inspect()))
    expectAbout((await told("The thread could not start: StorageFailure"))[0])
  })

  it("for a defect of ours, by its reference", async () => {
    const world = makeWorld({ agents: [agentOf("", Effect.succeed("x"))] })
    await accepted(world.admit("agent", secret))
    world.storage.sql.run("UPDATE meta SET born = ?", `${secret} `.repeat(20))
    world.crash()
    const exit = await go(Effect.flip(world.inspect()))
    expect(exit).toMatchObject({ _tag: "InternalDefect" })
    const { reference } = exit as unknown as { readonly reference: string }
    expectAbout((await told(`Defect ${reference} in inspect: `))[0])
  })
})

describe("what was thrown, in words of ours", () => {
  const hostile = new Proxy(
    {},
    {
      get: () => {
        throw new Error(secret)
      },
    },
  )

  it.each([
    ["a string", secret, "a thrown string"],
    ["nothing", undefined, "a thrown undefined"],
    ["one that cannot be touched", hostile, "what cannot be looked at"],
    [
      "a name that is none",
      Object.assign(new Error(""), { name: `${secret} \n` }),
      /^a thrown object/,
    ],
    ["a tagged one", { _tag: "Declined", message: secret }, "Declined"],
  ])("is bounded and total: %s", (_what, thrown, words) => {
    const line = describeThrown(thrown)
    if (typeof words === "string") expect(line).toBe(words)
    else expect(line).toMatch(words)
    expect(line).not.toContain(secret)
  })

  it("has no frames where the message cannot be told from them", () => {
    for (const message of ["another", secret, ""]) {
      const error = broken()
      expect(error.stack).toContain(secret)
      error.message = message
      expect(describeThrown(error)).toBe("Error")
    }
    const silent = new Error("")
    expect(describeThrown(silent)).toMatch(/^Error at .*logs\.test\.ts:\d+/)
  })

  it("ends with causes that go round", () => {
    const error = new Error(secret)
    error.cause = error
    expect(describeThrown(error).split("because of")).toHaveLength(3)
  })

  it("is text that no logger has to touch", async () => {
    const said: Array<unknown> = []
    const logger = Logger.make(({ cause, message }) => {
      said.push(message, cause.reasons.length)
    })
    const line = logCause(
      "It broke",
      (await go(Effect.sandbox(Effect.die(broken())).pipe(Effect.flip))) as never,
    )
    await go(Effect.provide(line, Logger.layer([logger])))
    expect(said[1]).toBe(0)
    expect(String(said[0])).toMatch(/^It broke: Error at broken/)
  })
})
