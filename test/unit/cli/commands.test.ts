import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, it, vi } from "@effect/vitest"
import { Effect, Stream } from "effect"
import * as Errors from "../../../contracts/Errors.ts"
import { HeddleRpc } from "../../../contracts/HeddleRpc.ts"
import { schedule, settlement, submissionId, threadId } from "../client/fakes.ts"
import { answers, at, record, recordId } from "./answers.ts"
import { type Command, makeCommand } from "./command.ts"
import { conversations, type Fact } from "./conversations.ts"
import { type Answers, type Deployment, makeDeployment } from "./deployment.ts"

const place = { ownerId: "shop-1", threadId }
const words = { author: "ann", reason: "why not" }
const said = ["--author", "ann", "-m", "why not"]

const facts: ReadonlyArray<Fact> = [
  ...conversations,
  {
    args: ["submit", threadId, "--agent", "refund", "--input", '{"order":7}', "--key", "k-1"],
    asks: ["submit", { ...place, agent: "refund", input: { order: 7 }, idempotencyKey: "k-1" }],
    shows: "sequence    1",
    json: { submissionId, sequence: 1 },
  },
  {
    args: ["submit", threadId, "-a", "refund", "--stdin", "--title", "T", "--delivery", "join"],
    stdin: "[1, 2]",
    asks: ["submit", { input: [1, 2], title: "T", delivery: "join" }],
    shows: submissionId,
    json: { submissionId },
  },
  {
    args: ["submit", threadId, "-a", "refund", "-f", "-", "--not-before", "2027-01-01T00:00:00Z"],
    stdin: "null",
    asks: ["submit", { input: null, notBefore: Date.UTC(2027, 0, 1) }],
    shows: submissionId,
    json: { submissionId },
  },
  {
    args: ["submit", threadId, "-a", "refund", "-i", "1", "--wait"],
    asks: ["awaitSettlement", { ...place, submissionId }],
    shows: "outcome     completed",
    json: { receipt: { submissionId }, settlement: { outcome: "completed" } },
  },
  {
    args: ["resubmit", threadId, submissionId, ...said, "--key", "k-2"],
    asks: ["resubmit", { ...place, submissionId, ...words, idempotencyKey: "k-2" }],
    shows: `resubmission of  ${submissionId}`,
    json: { resubmissionOf: submissionId },
  },
  {
    args: ["wait", threadId, submissionId],
    asks: ["awaitSettlement", { ...place, submissionId }],
    shows: '"refunded": true',
    json: { outcome: "completed", output: { refunded: true } },
  },
  {
    args: ["status", threadId, submissionId],
    asks: ["status", { ...place, submissionId }],
    shows: "outcome     completed",
    json: { state: "settled" },
  },
  {
    args: ["history", threadId, "--after", "0", "-n", "2"],
    asks: ["history", { ...place, after: 0, limit: 2 }],
    shows: "InputApplied",
    json: { next: 2, records: [{ sequence: 1 }, { sequence: 2 }] },
  },
  {
    args: ["state", threadId],
    asks: ["readState", place],
    shows: '"orders": 7',
    json: { version: 4, value: { orders: 7 } },
  },
  {
    args: ["abort", threadId, submissionId, ...said],
    asks: ["abort", { ...place, submissionId, ...words }],
    shows: "It is being aborted",
    json: { _tag: "Aborting" },
  },
  {
    args: ["abort", "--all", "--agent", "refund", "--state", "ready", "--yes", ...said],
    asks: [
      "abortMany",
      { ownerId: "shop-1", dryRun: false, filter: { agent: "refund", state: "ready" }, ...words },
    ],
    shows: "aborting",
    json: { dryRun: false, results: [{ submissionId, effect: { _tag: "Done" } }], unanswered: [] },
  },
  {
    args: ["resolve", threadId, submissionId, recordId, "--as", "failed", "-i", '"no"', ...said],
    asks: [
      "resolveUnknown",
      {
        ...place,
        submissionId,
        recordId,
        resolution: { _tag: "CompletedWithResult", result: "no", isFailure: true },
      },
    ],
    shows: "calls still unknown  1",
    json: { state: "ready", undecided: 1 },
  },
  {
    args: ["resolve", threadId, submissionId, recordId, "--as", "never-happened", ...said],
    asks: ["resolveUnknown", { resolution: { _tag: "NeverHappened" }, ...words }],
    shows: "state",
    json: { state: "ready" },
  },
  {
    args: ["retry", threadId, submissionId, "--author", "ann"],
    asks: ["retry", { ...place, submissionId, author: "ann" }],
    shows: "due    now",
    json: { state: "ready", dueAt: 0 },
  },
  {
    args: ["retry", "--all", threadId, "--blocker", "fault", "--dry-run"],
    asks: [
      "retryMany",
      { dryRun: true, filter: { threadIds: [threadId], blocker: "fault" }, ownerId: "shop-1" },
    ],
    shows: "would retry",
    json: { dryRun: true, results: [{ submissionId }] },
  },
  {
    args: ["wake", threadId],
    asks: ["wake", place],
    shows: "in its way  paused",
    json: { known: true, nonterminal: 3 },
  },
  {
    args: ["pause", threadId, ...said],
    asks: ["pauseThread", { ...place, ...words }],
    shows: "paused  yes",
    json: { paused: true, pause: { author: "ann" } },
  },
  {
    args: ["resume", threadId, "--author", "ann"],
    asks: ["resumeThread", { ...place, author: "ann" }],
    shows: "paused  no",
    json: { paused: false },
  },
  {
    args: ["forget", threadId, ...said, "--abort", "--yes"],
    asks: ["forgetThread", { ...place, ...words, abort: true }],
    shows: "Decided",
    json: { _tag: "Condemned" },
  },
  {
    args: ["reconcile", threadId, "--file", "-"],
    stdin: `order-8\nshop-1/order-9\n${threadId}\n`,
    asks: ["reconcile", { ownerId: "shop-1", threadIds: [threadId, "order-8", "order-9"] }],
    shows: "3 threads",
    json: { enrolled: 3 },
  },
  {
    args: ["explain", threadId, submissionId],
    asks: ["explain", { ...place, submissionId }],
    shows: "Paused by ann.",
    json: [{ submissionId, decision: "ApplyInput" }],
  },
  {
    args: ["verify", threadId],
    asks: ["verify", place],
    shows: "contiguity  passed",
    json: { records: 9, checks: [{ check: "contiguity" }, { check: "fifo" }] },
  },
  {
    args: ["recovery", threadId],
    asks: ["recoveryStatus", place],
    shows: "ThreadUnreadable",
    json: { attempts: 3, failure: { tag: "ThreadUnreadable" } },
  },
  {
    args: ["obligations", "--aged", "0s"],
    asks: ["obligations", { ownerId: "shop-1", agedAfterMillis: 0 }],
    shows: "pay-back",
    json: { obligations: [{ recordId }] },
  },
  {
    args: ["threads", "-n", "5", "--after", "a"],
    asks: ["listThreads", { ownerId: "shop-1", limit: 5, after: "a" }],
    shows: "Order 7",
    json: { threads: [{ threadId }] },
  },
  {
    args: ["owners"],
    asks: ["list", {}],
    shows: "shop-1",
    json: { owners: [{ ownerId: "shop-1" }] },
  },
  {
    args: ["maintenance"],
    asks: ["maintenanceStatus", { ownerId: "shop-1" }],
    shows: "ended by           quiescent",
    json: { nonterminal: 3, lastPass: { settled: 1 } },
  },
  {
    args: ["maintenance", "--run", "--timeout", "2s"],
    asks: ["runMaintenance", { ownerId: "shop-1", timeoutMillis: 2_000 }],
    shows: "quiescent",
    json: { _tag: "Finished", pass: { settled: 1 } },
  },
]

const world = Effect.fnUntraced(function* (given: Answers = answers) {
  const deployment = yield* makeDeployment(given)
  const command = yield* makeCommand
  const token = yield* Effect.promise(() => deployment.tokenOf({ owners: ["*"] }))
  const env = { HEDDLE_URL: deployment.url, HEDDLE_OWNER: "shop-1", HEDDLE_TOKEN: token }
  return { deployment, command, env }
})

const run = (
  { command, env }: { readonly command: Command; readonly env: Record<string, string> },
  args: ReadonlyArray<string>,
  stdin?: string,
) => Effect.promise(() => command.run(args, { env, ...(stdin === undefined ? {} : { stdin }) }))

const lastAsked = (deployment: Deployment, operation: string) =>
  deployment.payloads(operation).at(-1)

describe.each(facts)("heddle $args.0 ($asks.0)", ({ args, asks, json, shows, stdin }) => {
  it.live(`asks and shows: ${args.join(" ")}`, () =>
    Effect.gen(function* () {
      const here = yield* world()
      const [people, machines] = yield* Effect.all(
        [run(here, args, stdin), run(here, [...args, "--json"], stdin)],
        { concurrency: "unbounded" },
      )
      expect(people).toMatchObject({ code: 0, stdout: expect.stringContaining(shows) as string })
      expect(lastAsked(here.deployment, asks[0])).toMatchObject(asks[1])
      expect(machines).toMatchObject({ code: 0, stderr: "" })
      expect(JSON.parse(machines.stdout)).toMatchObject(json as object)
    }),
  )
})

describe("heddle", () => {
  it("has a command for every operation", () => {
    // Streams are below, batches in a file of their own, and the registry's name for it is `list`.
    const others = ["observe", "watch", "submitMany", "listOwners"]
    const asked = new Set([...facts.map(({ asks }) => asks[0]), ...others])
    expect([...HeddleRpc.requests.keys()].filter((name) => !asked.has(name))).toEqual([])
  })

  it.live("tells where the console is, and asks nobody for it", () =>
    Effect.gen(function* () {
      const here = yield* world()
      const page = `${here.env.HEDDLE_URL}/console/#/owners/shop-1`
      expect(yield* run(here, ["console"])).toMatchObject({ code: 0, stdout: `${page}\n` })
      const odd = yield* run(here, ["console", "order:7", "--json"])
      expect(JSON.parse(odd.stdout)).toEqual({ address: `${page}/threads/order%3A7` })
      expect((yield* run(here, ["console", "a?b"])).code).toBe(2)
      expect([...HeddleRpc.requests.keys()].flatMap(here.deployment.payloads)).toEqual([])
    }),
  )

  it.live("goes through all pages of a list and of a history", () =>
    Effect.gen(function* () {
      const pages: Answers = {
        ...answers,
        listThreads: ({ after }: { after?: string }) => ({
          threads: [
            {
              threadId: after === undefined ? "a" : "b",
              nonterminal: 0,
              parked: 0,
              paused: false,
              tailSequence: 1,
            },
          ],
          ...(after === undefined ? { next: "a" } : {}),
        }),
        history: ({ after }: { after: number }) => ({
          records: [record(after + 1)],
          ...(after < 2 ? { next: after + 1 } : {}),
        }),
      }
      const here = yield* world(pages)
      const one = yield* run(here, ["threads"])
      expect(one.stderr).toContain("There are more: --after a, or --all.")
      const threads = yield* run(here, ["threads", "--all", "--json"])
      expect(JSON.parse(threads.stdout)).toMatchObject({
        threads: [{ threadId: "a" }, { threadId: "b" }],
      })
      const history = yield* run(here, ["history", threadId, "--all", "--json"])
      expect(JSON.parse(history.stdout)).toMatchObject({
        records: [{ sequence: 1 }, { sequence: 2 }, { sequence: 3 }],
      })
    }),
  )

  it.live("says of a list that is being built anew, and how it goes on in a shell", () =>
    Effect.gen(function* () {
      const here = yield* world({
        ...answers,
        listThreads: () => ({ threads: [], behind: true }),
        schedules: () => ({ schedules: [schedule], next: "it's one" }),
      })
      const threads = yield* run(here, ["threads"])
      expect(threads.stderr).toContain("threads may be missing")
      const machines = yield* run(here, ["threads", "--json"])
      expect(JSON.parse(machines.stdout)).toEqual({ threads: [], behind: true })
      const schedules = yield* run(here, ["schedules", threadId])
      expect(schedules.stderr).toContain(`--after 'it'\\''s one', or --all`)
    }),
  )

  it.live("gives up where a deployment's pages do not go on", () =>
    Effect.gen(function* () {
      const here = yield* world({
        ...answers,
        listThreads: () => ({ threads: [], next: "a" }),
        verify: () => ({ checks: [], records: 0, next: 3 }),
        abortMany: () => ({ results: [], unanswered: [], next: { threadId } }),
      })
      for (const args of [
        ["threads", "--all"],
        ["history", threadId, "--all"], // says `next: 2` for ever
        ["verify", threadId],
        ["abort", "--all", "-m", "x", "--yes"],
      ]) {
        const ended = yield* run(here, args)
        expect(ended.code).toBe(1)
        expect(ended.stderr).toContain("the same page again and again")
      }
    }),
  )

  it.live("follows a thread until its submission has settled", () =>
    Effect.gen(function* () {
      let settled = false
      const { settlement: _settlement, ...open } = (
        answers["status"] as () => { settlement: unknown }
      )()
      const here = yield* world({
        ...answers,
        status: () => (settled ? { ...open, settlement } : { ...open, state: "running" }),
        observe: () => {
          settled = true
          return (answers["observe"] as () => Stream.Stream<unknown>)()
        },
      })
      const args = ["tail", threadId, "--until", submissionId, "--after", "1"]
      const people = yield* run(here, args)
      expect(people.code).toBe(0)
      expect(people.stdout.split("\n")[0]).toBe(`-- ${submissionId}`)
      expect(people.stdout).toContain("Settled")
      settled = false
      const machines = yield* run(here, [...args, "--json"])
      const frames = machines.stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as unknown)
      expect(frames).toMatchObject([
        { _tag: "Opened" },
        { _tag: "Record", record: { sequence: 2 } },
        { _tag: "Record", record: { sequence: 3 } },
      ])
    }),
  )

  it.live("ends tail and watch with 130 at Ctrl-C", () =>
    Effect.gen(function* () {
      const { command, env } = yield* world()
      for (const [args, text] of [
        [["tail", threadId], "Settled"],
        [["watch"], threadId],
        [["watch", "--json"], '"_tag":"Lane"'],
      ] as const) {
        const running = command.start(args, { env })
        yield* Effect.promise(() => running.says(text))
        running.child.kill("SIGINT")
        expect((yield* Effect.promise(() => running.ended)).code).toBe(130)
      }
    }),
  )

  it.live("goes on with the token of the moment when the one of a stream has run out", () =>
    Effect.gen(function* () {
      const { command, deployment, env } = yield* world({
        ...answers,
        observe: ({ after }: { after: number }) =>
          Stream.concat(
            Stream.make(
              { _tag: "Opened", tailSequence: after },
              { _tag: "Record", record: record(after + 1) },
            ),
            Stream.never,
          ),
      })
      const file = join(command.folder, "token")
      const write = Effect.fnUntraced(function* (seconds: number) {
        const token = yield* Effect.promise(() => deployment.tokenOf({}, seconds))
        yield* Effect.promise(() => writeFile(file, token))
      })
      const start = () =>
        command.start(["tail", threadId, "--after", "7"], {
          env: { ...env, HEDDLE_TOKEN: "", HEDDLE_TOKEN_FILE: file },
        })
      yield* write(5)
      const renewed = start()
      yield* Effect.promise(() => renewed.says("     8  "))
      yield* write(600)
      yield* Effect.promise(() => renewed.says("     9  "))
      renewed.child.kill("SIGINT")
      const { code, stdout } = yield* Effect.promise(() => renewed.ended)
      expect(code).toBe(130)
      expect(stdout.match(/ 8 {2}/g)).toHaveLength(1)
      yield* write(2)
      const ended = yield* Effect.promise(() => start().ended)
      expect(ended).toMatchObject({ code: 4, stderr: expect.stringContaining("expired") as string })
    }),
  )

  it.live("ends quietly when nobody reads its output any more", () =>
    Effect.gen(function* () {
      const many = Array.from({ length: 1_000 }, (_, index) => record(index + 1))
      const { command, env } = yield* world({
        ...answers,
        history: ({ after }: { after: number }) => ({ records: many, next: after + 1 }),
      })
      const running = command.start(["history", threadId, "--all"], { env })
      yield* Effect.promise(() => running.says("Progress"))
      running.child.stdout?.destroy()
      expect(yield* Effect.promise(() => running.ended)).toMatchObject({ code: 141, stderr: "" })
    }),
  )

  it.live("says so when its output cannot be written", () =>
    Effect.gen(function* () {
      const { command, env } = yield* world()
      const ended = yield* Effect.promise(() =>
        command.run(["history", threadId], { env, stdoutTo: "/dev/full" }),
      )
      expect(ended).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("Standard output cannot be written (ENOSPC)") as string,
      })
    }),
  )

  it.live("tells what a bulk command has done when it does not come to the end", () =>
    Effect.gen(function* () {
      const result = {
        threadId,
        submissionId,
        sequence: 1,
        agent: "refund",
        state: "ready",
        acceptedAt: at,
        effect: { _tag: "Done", reply: { _tag: "Settled", settlement } },
      }
      const page = { results: [result], unanswered: [], next: { threadId, sequence: 1 } }
      const here = yield* world({
        ...answers,
        abortMany: ({ after }: { after?: object }) =>
          after === undefined
            ? page
            : Effect.fail(new Errors.StorageUnavailable({ operation: "read" })),
        retryMany: ({ after }: { after?: object }) =>
          after === undefined
            ? { ...page, results: [{ ...result, effect: { _tag: "Planned", would: "retry" } }] }
            : Effect.never,
      })
      const abortAll = ["abort", "--all", "-m", "flood", "--yes"]
      const people = yield* run(here, abortAll)
      expect(people).toMatchObject({ code: 3 })
      expect(people.stdout).toContain(submissionId)
      expect(people.stderr).toContain("The same command again is safe")
      const machines = yield* run(here, [...abortAll, "--json"])
      expect(JSON.parse(machines.stdout)).toMatchObject({
        results: [{ submissionId }],
        next: page.next,
      })
      const running = here.command.start(["retry", "--all", "--json"], { env: here.env })
      yield* Effect.promise(() =>
        vi.waitUntil(() => here.deployment.payloads("retryMany").length === 2, { timeout: 15_000 }),
      )
      running.child.kill("SIGINT")
      const broken = yield* Effect.promise(() => running.ended)
      expect(broken.code).toBe(130)
      expect(JSON.parse(broken.stdout)).toMatchObject({ results: [{ submissionId }] })
    }),
  )

  it.live("sends no control character of an answer to the terminal", () =>
    Effect.gen(function* () {
      const title = "\u001b]0;owned\u0007\u009b2J\u202ereversed"
      const here = yield* world({
        ...answers,
        listThreads: () => ({
          threads: [{ threadId, title, nonterminal: 0, parked: 0, paused: false, tailSequence: 1 }],
        }),
      })
      for (const args of [["threads"], ["threads", "--json"]]) {
        const { code, stdout } = yield* run(here, args)
        expect(code).toBe(0)
        expect(stdout).toContain("owned")
        // oxlint-disable-next-line no-control-regex
        expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
        if (args.length > 1) expect(JSON.parse(stdout)).toMatchObject({ threads: [{ title }] })
      }
    }),
  )

  it.live("completes commands and flags in bash, zsh and fish", () =>
    Effect.gen(function* () {
      const command = yield* makeCommand
      for (const shell of ["bash", "zsh", "fish"]) {
        const { code, stdout } = yield* Effect.promise(() => command.run(["completion", shell]))
        expect(code).toBe(0)
        for (const word of ["obligations", "resubmit", "checkpoint", "connect-timeout"]) {
          expect(stdout).toContain(word)
        }
        expect(stdout).toContain(`heddle completion ${shell} >`)
        expect(stdout).not.toContain("--completions")
      }
    }),
  )

  it.live("helps with every command, with an example each, and colours nothing unless asked", () =>
    Effect.gen(function* () {
      const command = yield* makeCommand
      const help = yield* Effect.promise(() => command.run(["--help"]))
      expect(help.stdout).toContain("7  timed out")
      const names = [...help.stdout.matchAll(/^ {2}([a-z]+) {2,}\S/gm)].map(
        ([, name]) => name ?? "",
      )
      expect(names.length).toBe(34)
      for (const name of names) {
        const { code, stdout } = yield* Effect.promise(() => command.run([name, "--help"]))
        expect(code).toBe(0)
        expect(stdout).toContain(`heddle ${name}`)
        expect(stdout).toContain("EXAMPLES")
        expect(stdout).not.toContain("\u001b")
      }
      const coloured = (env: Record<string, string>) =>
        Effect.promise(() => command.run(["--help"], { env }))
      expect((yield* coloured({ FORCE_COLOR: "1" })).stdout).toContain("\u001b")
      expect((yield* coloured({ FORCE_COLOR: "1", NO_COLOR: "1" })).stdout).not.toContain("\u001b")
    }),
  )
})
