/** The command line against a real workerd, which is killed under it. */
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { beforeAll, describe, expect, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import { AgentId, OwnerId, ThreadId } from "../../contracts/Identifiers.ts"
import type { WorkerBuild } from "../../scripts/workerBuild.ts"
import { makeCommand } from "../unit/cli/command.ts"
import { startGateway } from "./gateway.ts"
import { build, startServer } from "./server.ts"

let worker: WorkerBuild
beforeAll(async () => {
  worker = await build()
})

const world = Effect.gen(function* () {
  const server = yield* startServer(worker)
  const command = yield* makeCommand
  const env = { HEDDLE_URL: server.url, HEDDLE_TOKEN: server.token, HEDDLE_OWNER: "shop" }
  const run = (...args: ReadonlyArray<string>) =>
    Effect.promise(() => command.run([...args, "--json"], { env }))
  /** The document of a command that ends with this code. */
  const told = Effect.fnUntraced(function* (code: number, ...args: ReadonlyArray<string>) {
    const ended = yield* run(...args)
    expect({ args, ...ended }).toMatchObject({ args, code })
    return JSON.parse(ended.stdout) as { readonly submissionId: string }
  })
  return { server, command, env, run, told }
})

const submitTally = (workMillis: number) =>
  ["submit", "t-1", "-a", "tally", "-i", JSON.stringify({ workMillis })] as const

describe("heddle and a deployment", () => {
  it.live("do everything to a submission, from its receipt to its history", () =>
    Effect.gen(function* () {
      const { run, told } = yield* world
      const done = yield* told(0, ...submitTally(1), "--wait")
      expect(done).toMatchObject({ settlement: { outcome: "completed", output: { count: 1 } } })
      expect(yield* told(6, "submit", "t-1", "-a", "tally", "-i", "{}", "--wait")).toMatchObject({
        settlement: { outcome: "failed", failure: { tag: "InputInvalid" } },
      })
      expect(yield* run("submit", "t-1", "-a", "nobody", "-i", "{}")).toMatchObject({ code: 1 })
      expect(yield* told(0, "pause", "t-1", "-m", "audit")).toMatchObject({ paused: true })
      const { submissionId } = yield* told(0, ...submitTally(2))
      const [explained] = (yield* told(0, "explain", "t-1")) as unknown as [object]
      expect(explained).toMatchObject({ submissionId, heldBy: [{ blocker: "paused" }] })
      expect(yield* told(0, "obligations")).toMatchObject({
        obligations: [{ threadId: "t-1", blocker: "paused" }],
      })
      expect(yield* told(0, "retry", "--all", "--dry-run")).toMatchObject({
        results: [{ submissionId }],
      })
      yield* told(0, "abort", "t-1", submissionId, "-m", "twice")
      yield* told(0, "resume", "t-1")
      expect(yield* told(6, "wait", "t-1", submissionId)).toMatchObject({ outcome: "aborted" })
      const again = yield* told(0, "resubmit", "t-1", submissionId, "--wait")
      expect(again).toMatchObject({
        receipt: { resubmissionOf: submissionId },
        settlement: { outcome: "completed", output: { count: 2 } },
      })
      expect(yield* told(0, "state", "t-1")).toMatchObject({ value: 2 })
      expect(yield* told(0, "threads")).toMatchObject({ threads: [{ threadId: "t-1" }] })
      expect(yield* told(0, "verify", "t-1")).toMatchObject({ checks: { length: 10 } })
      expect(yield* told(0, "maintenance")).toMatchObject({ ownerId: "shop", nonterminal: 0 })
      yield* told(0, "forget", "t-1", "-m", "done with", "--yes")
      yield* Effect.promise(() =>
        vi.waitUntil(async () => (await Effect.runPromise(run("state", "t-1"))).code === 5, {
          timeout: 20_000,
        }),
      )
    }),
  )

  it.live("wait and follow over a kill of the whole process", () =>
    Effect.gen(function* () {
      const { command, env, server, told } = yield* world
      const { submissionId } = yield* told(0, ...submitTally(4_000))
      const gateway = yield* startGateway(server.url)
      // A command that has never reached anything says so at once, and does not wait.
      const asked = gateway.seen("awaitSettlement")
      const waits = ["wait", "t-1", submissionId]
      const waiting = command.start(waits, { env: { ...env, HEDDLE_URL: gateway.url } })
      const args = ["tail", "t-1", "--after", "0", "--until", submissionId, "--json"]
      const following = command.start(args, { env })
      yield* Effect.promise(() => Promise.all([asked, following.says('"kind":"InputApplied"')]))
      yield* server.killAndStart
      const [waited, followed] = yield* Effect.promise(() =>
        Promise.all([waiting.ended, following.ended]),
      )
      expect(waited).toMatchObject({ code: 0, stderr: "" })
      expect(followed).toMatchObject({ code: 0, stderr: "" })
      const sequences = followed.stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as { _tag: string; record?: { sequence: number } })
        .flatMap(({ record }) => (record === undefined ? [] : [record.sequence]))
      expect(sequences).toEqual(sequences.map((_, index) => index + 1))
    }),
  )

  it.live("bring a batch to its end over a kill of the whole process, each line once", () =>
    Effect.gen(function* () {
      const { command, env, server } = yield* world
      const lines = Array.from({ length: 1_000 }, (_, index) =>
        JSON.stringify({ threadId: `t-${index % 8}`, input: { index } }),
      )
      yield* Effect.promise(() => writeFile(join(command.folder, "b.jsonl"), lines.join("\n")))
      const batch = ["submit", "-a", "noop", "--jsonl", "b.jsonl", "--checkpoint", "b", "--json"]
      const running = command.start(batch, { env })
      yield* Effect.promise(() => running.says('"receipt"'))
      yield* server.killAndStart
      expect(running.child.exitCode).toBe(null)
      const ended = yield* Effect.promise(() => running.ended)
      expect(ended).toMatchObject({ code: 0, stderr: "" })
      for (let thread = 0; thread < 8; thread++) {
        const next = yield* server.client.submit({
          ownerId: OwnerId.make("shop"),
          threadId: ThreadId.make(`t-${thread}`),
          agent: AgentId.make("noop"),
          input: null,
        })
        expect(next.sequence).toBe(126)
      }
    }),
  )
})
