/** Commands that `explain` prints do what they say when they are pasted into a shell, whatever names hold. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "@effect/vitest"
import { commandLine, flagText } from "../../../contracts/CommandLine.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, makeWorld } from "../thread/harness.ts"
import { operate } from "../thread/operators.ts"
import { dispatched } from "../thread/waits.ts"
import { answers } from "./answers.ts"
import { makeCommand } from "./command.ts"
import { makeDeployment } from "./deployment.ts"

const names = ["plain", "-name", "--", "-m", "--payload", "~root", "its 'own' `name` $(x)", "-7"]

const Asks = Agent.make("asks", { input: Schema.Json, output: Schema.Json }).handler(
  (_input, run) =>
    Effect.forEach(
      names,
      (name) =>
        Effect.all([run.approval(name, { summary: "?" }), run.waitFor(`${name} `, Schema.Json)], {
          concurrency: 2,
        }),
      { concurrency: "unbounded", discard: true },
    ).pipe(Effect.as(1), Effect.orDie),
)

/** What stands between backticks, of the commands: a name may hold some, too. */
const commandsOf = (message: string): ReadonlyArray<string> =>
  message
    .split(/\. Say `|` or `(?=heddle)/)
    .slice(1)
    .map((text) => text.replace(/`\.$/, "").replace("--payload JSON", "--payload 7"))

const explained = async () => {
  const world = makeWorld({ agents: [Asks] })
  const { submissionId } = await accepted(world.admit("asks", 1))
  expect(await dispatched(world)).toBe("Suspended")
  const [told] = await operate(world).explain(submissionId)
  return { submissionId, hints: (told?.waits ?? []).flatMap(({ message }) => commandsOf(message)) }
}

/** Runs a line as somebody would who pastes it. */
const pasted = (line: string): string =>
  `node=$0; cli=$1; heddle() { "$node" "$cli" "$@"; }; ${line}`

const world = Effect.gen(function* () {
  const deployment = yield* makeDeployment(answers)
  const command = yield* makeCommand
  const token = yield* Effect.promise(() => deployment.tokenOf({ owners: ["*"] }))
  const env = { HEDDLE_URL: deployment.url, HEDDLE_OWNER: "shop-1", HEDDLE_TOKEN: token }
  const paste = (line: string) =>
    Effect.promise(() => command.run([], { env, shell: pasted(line) }))
  return { deployment, paste }
})

describe("a command that explain prints", () => {
  it.live(
    "names the wait it is about",
    () =>
      Effect.gen(function* () {
        const { hints, submissionId } = yield* Effect.promise(explained)
        expect(hints).toHaveLength(names.length * 3)
        const { deployment, paste } = yield* world
        // A process each: of most names the approval alone.
        const some = hints.filter((hint) => / approve |-name/.test(hint))
        for (const hint of some)
          expect([hint, yield* paste(hint)]).toMatchObject([hint, { code: 0, stderr: "" }])
        const asked = deployment.asked.map(({ operation, payload }) => [
          operation,
          payload["submissionId"],
          payload["name"],
          payload["approved"],
        ])
        const meant = [
          ...names.map((name) => ["resolveApproval", submissionId, name, true]),
          ["resolveApproval", submissionId, "-name", false],
          ["signal", submissionId, "-name ", undefined],
        ]
        expect(asked).toHaveLength(meant.length)
        expect(asked).toEqual(expect.arrayContaining(meant))
      }),
    60_000,
  )

  it.live("of a thread that begins with a dash, and of a page after one, is read so, too", () =>
    Effect.gen(function* () {
      const { deployment, paste } = yield* world
      const line = commandLine("pause", ["-7x"], [flagText("reason", "-why")])
      expect(line).toBe("heddle pause --reason=-why -- -7x")
      expect(yield* paste(line)).toMatchObject({ code: 0 })
      expect(yield* paste(`heddle threads ${flagText("after", "-a")}`)).toMatchObject({ code: 0 })
      expect(
        deployment.asked.map(({ payload }) => payload["threadId"] ?? payload["after"]),
      ).toEqual(["-7x", "-a"])
    }),
  )
})
