import { appendFile, readFile, truncate, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import * as Errors from "../../../contracts/Errors.ts"
import { AgentId, SubmissionId } from "../../../contracts/Identifiers.ts"
import { receipt } from "../client/fakes.ts"
import { makeCommand, type StartOptions } from "./command.ts"
import { makeDeployment } from "./deployment.ts"

interface Sent {
  readonly threadId: string
  readonly agent: string
  readonly input: unknown
  readonly idempotencyKey: string
}

interface Ledger {
  /** What each key was accepted for, in the order of acceptance. */
  readonly accepted: Map<string, Sent>
  /** Every try. */
  readonly tried: Array<Sent>
}

type Refuse = (sent: Sent) => { readonly _tag: string } | undefined

/** Accepts each key once, as an owner does, unless the test refuses it. */
const admitting = (ledger: Ledger, refuse: Refuse = () => undefined) => {
  const admit = (sent: Sent) => {
    ledger.tried.push(sent)
    const error = refuse(sent)
    if (error !== undefined) return { _tag: "Refused", error }
    const duplicate = ledger.accepted.has(sent.idempotencyKey)
    ledger.accepted.set(sent.idempotencyKey, ledger.accepted.get(sent.idempotencyKey) ?? sent)
    const number = [...ledger.accepted.keys()].indexOf(sent.idempotencyKey) + 1
    const submissionId = SubmissionId.make(
      `018f0000-0000-7000-8000-${String(number).padStart(12, "0")}`,
    )
    return {
      _tag: "Accepted",
      receipt: { ...receipt, threadId: sent.threadId, submissionId, sequence: number, duplicate },
    }
  }
  return ({ submissions }: { readonly submissions: ReadonlyArray<Sent> }) => ({
    outcomes: submissions.map(admit),
  })
}

const lineOf = (line: number, threads: number) =>
  JSON.stringify({ threadId: `t-${line % threads}`, input: { line } })

const linesOf = (count: number, threads = 7): string =>
  Array.from({ length: count }, (_, index) => `${lineOf(index + 1, threads)}\n`).join("")

const world = Effect.fnUntraced(function* (
  options: { readonly refuse?: Refuse; readonly delayMillis?: number } = {},
) {
  const ledger: Ledger = { accepted: new Map(), tried: [] }
  const admit = admitting(ledger, options.refuse)
  const deployment = yield* makeDeployment({
    submitMany: (payload: { readonly submissions: ReadonlyArray<Sent> }) =>
      Effect.delay(
        Effect.sync(() => admit(payload)),
        options.delayMillis ?? 0,
      ),
  })
  const command = yield* makeCommand
  const env = {
    HEDDLE_URL: deployment.url,
    HEDDLE_OWNER: "shop-1",
    HEDDLE_TOKEN: deployment.token,
  }
  const file = join(command.folder, "batch.jsonl")
  return {
    ...ledger,
    deployment,
    command,
    env,
    file,
    checkpoint: join(command.folder, "batch.checkpoint"),
    write: (text: string) => Effect.promise(() => writeFile(file, text)),
    run: (args: ReadonlyArray<string>, more: StartOptions = {}) =>
      Effect.promise(() =>
        command.run(["submit", "-a", "refund", ...args], { ...more, env: { ...env, ...more.env } }),
      ),
  }
})

type World = Effect.Success<ReturnType<typeof world>>

const batch = ["--jsonl", "batch.jsonl"]
const remembered = [...batch, "--checkpoint", "batch.checkpoint"]

const linesAccepted = ({ accepted }: World, threadId?: string): ReadonlyArray<number> =>
  [...accepted.values()]
    .filter((sent) => threadId === undefined || sent.threadId === threadId)
    .map(({ input }) => (input as { readonly line: number }).line)

const counting = (count: number): ReadonlyArray<number> =>
  Array.from({ length: count }, (_, index) => index + 1)

const ascending = (numbers: ReadonlyArray<number>) =>
  numbers.toSorted((first, second) => first - second)

describe("heddle submit --jsonl", () => {
  it.live("submits every line once, those of a thread in their order, many in a call", () =>
    Effect.gen(function* () {
      const here = yield* world({ delayMillis: 2 })
      yield* here.write(linesOf(1_000))
      const ended = yield* here.run([...batch, "--concurrency", "5"])
      expect(ended).toMatchObject({ code: 0, stderr: "" })
      expect(ended.stdout).toMatch(/accepted +1000\n/)
      expect(ascending(linesAccepted(here))).toEqual(counting(1_000))
      for (const thread of ["t-0", "t-3", "t-6"]) {
        const lines = linesAccepted(here, thread)
        expect(lines).toEqual(ascending(lines))
      }
      expect(here.tried.length).toBe(1_000)
      expect(here.deployment.asked.length).toBeLessThan(20)
    }),
  )

  it.live("tells of every line to machines, and takes standard input", () =>
    Effect.gen(function* () {
      const here = yield* world({
        refuse: ({ input }) =>
          (input as { line: number }).line === 2
            ? new Errors.AgentNotRegistered({ agent: AgentId.make("refund") })
            : undefined,
      })
      const ended = yield* here.run(["--jsonl", "-", "--json"], { stdin: linesOf(3) })
      expect(ended.code).toBe(1)
      const told = ended.stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as object)
      expect(told).toHaveLength(3)
      expect(told).toContainEqual({
        line: 2,
        error: { _tag: "AgentNotRegistered", agent: "refund" },
      })
      expect(told).toContainEqual({
        line: 3,
        receipt: expect.objectContaining({ threadId: "t-3" }) as object,
      })
    }),
  )

  it.live("tells the lines that are refused, and submits the others", () =>
    Effect.gen(function* () {
      let mended = false
      const here = yield* world({
        refuse: ({ input }) =>
          !mended && (input as { line: number }).line % 10 === 0
            ? new Errors.InvalidInput({ path: "input", reason: "not today" })
            : undefined,
      })
      yield* here.write(linesOf(30))
      const ended = yield* here.run(remembered)
      expect(ended.code).toBe(1)
      expect(ended.stdout).toMatch(/refused +3\n/)
      expect(ended.stdout).toMatch(/20 +InvalidInput +.*not today/)
      expect(ended.stderr).toContain("3 of 30 lines were refused")
      mended = true
      expect(yield* here.run(remembered)).toMatchObject({ code: 0 })
      expect(ascending(linesAccepted(here))).toEqual(counting(30))
    }),
  )

  it.live("sends again what may be accepted later, and nothing of its thread before it", () =>
    Effect.gen(function* () {
      let full = 100 // all that the first call has of it
      const here = yield* world({
        refuse: ({ threadId }) =>
          threadId === "t-1" && (full -= 1) >= 0
            ? new Errors.AdmissionLimitExceeded({
                limit: "queuedPerThread",
                actual: 257,
                maximum: 256,
              })
            : undefined,
      })
      yield* here.write(linesOf(360, 3)) // more of a thread than one call takes
      expect(yield* here.run(batch)).toMatchObject({ code: 0 })
      const lines = linesAccepted(here, "t-1")
      expect(lines).toHaveLength(120)
      expect(lines).toEqual(ascending(lines))
    }),
  )

  it.live("finds the one line that has a whole call refused", () =>
    Effect.gen(function* () {
      const ledger: Ledger = { accepted: new Map(), tried: [] }
      const admit = admitting(ledger)
      const deployment = yield* makeDeployment({
        submitMany: (payload: { readonly submissions: ReadonlyArray<Sent> }) =>
          payload.submissions.some(({ input }) => (input as { line: number }).line === 13)
            ? Effect.fail(new Errors.InvalidInput({ path: "submissions", reason: "too deep" }))
            : admit(payload),
      })
      const command = yield* makeCommand
      const ended = yield* Effect.promise(() =>
        command.run(["submit", "-a", "refund", "--jsonl", "-"], {
          stdin: linesOf(40),
          env: {
            HEDDLE_URL: deployment.url,
            HEDDLE_OWNER: "shop-1",
            HEDDLE_TOKEN: deployment.token,
          },
        }),
      )
      expect(ended).toMatchObject({
        code: 1,
        stdout: expect.stringMatching(/13 +InvalidInput/) as string,
      })
      expect(ledger.accepted.size).toBe(39)
    }),
  )

  it.live("checks every line before it sends one", () =>
    Effect.gen(function* () {
      const here = yield* world()
      yield* here.write(
        `${linesOf(3)}{"threadId":"a","input":1,}\n{"threadId":"a b","input":1}\n{"threadId":"a"}\n` +
          `{"threadId":"a","input":1,"typo":2}\n[]\n{"ownerId":"other","threadId":"a","input":1}\n`,
      )
      const ended = yield* here.run(batch)
      expect(ended).toMatchObject({ code: 2, stdout: "" })
      for (const text of [
        "jsonl:4:27: not JSON",
        "jsonl:5:",
        "jsonl:6:",
        "typo",
        "jsonl:8:1: not an object",
        "another owner",
      ]) {
        expect(ended.stderr).toContain(text)
      }
      expect(here.tried).toEqual([])
    }),
  )

  it.live("stops where every line would be refused, and says so", () =>
    Effect.gen(function* () {
      const here = yield* world()
      yield* here.write(linesOf(1_000))
      const stranger = yield* Effect.promise(() => here.deployment.tokenOf({ owners: ["other"] }))
      const ended = yield* here.run(batch, { env: { HEDDLE_TOKEN: stranger } })
      expect(ended).toMatchObject({ code: 4 })
      expect(ended.stdout).toMatch(/left +1000/)
      expect(ended.stderr).toContain("give it a --checkpoint")
    }),
  )
})

describe("a checkpoint", () => {
  it.live("has a batch that is killed at any time submit each line once", () =>
    Effect.gen(function* () {
      const here = yield* world({ delayMillis: 40 })
      yield* here.write(linesOf(1_500, 11))
      for (const killedAt of [1, 300, 700, 1_100]) {
        const running = here.command.start(["submit", "-a", "refund", ...remembered], {
          env: here.env,
        })
        yield* Effect.promise(() =>
          vi.waitUntil(() => here.accepted.size >= killedAt, { timeout: 15_000, interval: 5 }),
        )
        running.child.kill("SIGKILL")
        yield* Effect.promise(() => running.ended)
      }
      const ended = yield* here.run(remembered)
      expect(ended).toMatchObject({ code: 0 })
      expect(ended.stdout).toMatch(/accepted before +\d+/)
      expect(ascending(linesAccepted(here))).toEqual(counting(1_500))
      for (const thread of ["t-0", "t-5"]) {
        const lines = linesAccepted(here, thread)
        expect(lines).toEqual(ascending(lines))
      }
      const again = yield* here.run(remembered)
      expect(again).toMatchObject({ code: 0 })
      expect(again.stdout).toMatch(/accepted before +1500/)
    }),
  )

  it.live("ends the batch where it cannot be written, and goes on from it with room", () =>
    Effect.gen(function* () {
      const here = yield* world()
      yield* here.write(linesOf(300))
      // As much of a file as a shell lets its commands write stands for a disk.
      const script = `ulimit -f 8; trap '' XFSZ; exec "$0" "$@"`
      const full = yield* Effect.promise(() =>
        here.command.run(["submit", "-a", "refund", ...remembered], {
          env: here.env,
          shell: script,
        }),
      )
      expect(full).toMatchObject({ code: 1 })
      expect(full.stderr).toMatch(/batch.checkpoint cannot be written \(EFBIG\)/)
      expect(full.stderr).toContain("Run the same command again")
      expect(full.stdout).toMatch(/accepted +\d/)
      expect(yield* here.run(remembered)).toMatchObject({ code: 0 })
      expect(ascending(linesAccepted(here))).toEqual(counting(300))
    }),
  )

  it.live("tells at Ctrl-C how far it came", () =>
    Effect.gen(function* () {
      const here = yield* world({ delayMillis: 50 })
      yield* here.write(linesOf(1_000))
      const running = here.command.start(["submit", "-a", "refund", ...remembered], {
        env: here.env,
      })
      yield* Effect.promise(() =>
        vi.waitUntil(() => here.accepted.size >= 300, { timeout: 15_000, interval: 5 }),
      )
      running.child.kill("SIGINT")
      const ended = yield* Effect.promise(() => running.ended)
      expect(ended.code).toBe(130)
      expect(ended.stderr).toMatch(
        /\d+ of 1000 lines are known to be accepted. Run the same command/,
      )
    }),
  )

  it.live("survives a note that was cut off, wherever", () =>
    Effect.gen(function* () {
      const here = yield* world()
      yield* here.write(linesOf(5))
      yield* here.run(remembered)
      const whole = yield* Effect.promise(() => readFile(here.checkpoint, "utf8"))
      const first = whole.indexOf("\n") + 1
      for (const length of [first, first + 1, first + 40, whole.length - 1]) {
        yield* Effect.promise(() => writeFile(here.checkpoint, whole.slice(0, length)))
        expect(yield* here.run(remembered)).toMatchObject({ code: 0 })
        expect(here.accepted.size).toBe(5)
        const tried = here.tried.length
        const { stdout } = yield* here.run([...remembered, "--json"])
        expect(stdout.trim().split("\n")).toHaveLength(5)
        expect(here.tried.length).toBe(tried)
      }
    }),
  )

  it.live("is taken by two commands at once with the same keys", () =>
    Effect.gen(function* () {
      const here = yield* world({ delayMillis: 5 })
      yield* here.write(linesOf(200))
      const both = yield* Effect.all([here.run(remembered), here.run(remembered)], {
        concurrency: 2,
      })
      expect(both.map(({ code }) => code)).toEqual([0, 0])
      expect(here.accepted.size).toBe(200)
    }),
  )

  it.live("goes on at the same deployment, however its address is written", () =>
    Effect.gen(function* () {
      const here = yield* world()
      yield* here.write(linesOf(5))
      yield* here.run(remembered)
      const header = JSON.parse(
        (yield* Effect.promise(() => readFile(here.checkpoint, "utf8"))).split("\n", 1)[0] ?? "",
      ) as Record<string, unknown>
      const env = { HEDDLE_URL: `${here.deployment.url}/rpc` }
      expect(yield* here.run(remembered, { env })).toMatchObject({ code: 0 })
      // As an older heddle has written it.
      const { address: _, ...older } = header
      yield* Effect.promise(() => writeFile(here.checkpoint, `${JSON.stringify(older)}\n`))
      expect(yield* here.run(remembered, { env })).toMatchObject({ code: 0 })
      expect(here.accepted.size).toBe(5)
    }),
  )

  it.live("is of one batch, owner, deployment and principal", () =>
    Effect.gen(function* () {
      const here = yield* world()
      yield* here.write(linesOf(5))
      expect(yield* here.run(remembered)).toMatchObject({ code: 0 })
      const tried = here.tried.length
      const other = yield* Effect.promise(() => here.deployment.tokenOf({ principal: "eve" }))
      const elsewhere = here.deployment.url.replace("127.0.0.1", "localhost")
      for (const [args, env, text] of [
        [["t-default"], {}, "have changed"],
        [[], { HEDDLE_OWNER: "shop-2" }, "The batch is not the one"],
        [[], { HEDDLE_URL: elsewhere }, "is of a batch for shop-1 at"],
        [[], { HEDDLE_URL: `${here.deployment.url}/eu/rpc` }, "is of a batch for shop-1 at"],
        [[], { HEDDLE_TOKEN: other }, "keys are each principal's own"],
      ] as const) {
        const ended = yield* here.run([...args, ...remembered], { env })
        expect(ended).toMatchObject({ code: 2, stdout: "" })
        expect(ended.stderr).toContain(text)
      }
      yield* Effect.promise(() => appendFile(here.file, lineOf(6, 7)))
      expect((yield* here.run(remembered)).stderr).toContain("have changed")
      yield* Effect.promise(() => writeFile(here.checkpoint, "my notes\n"))
      expect((yield* here.run(remembered)).stderr).toContain("is no checkpoint")
      expect(yield* Effect.promise(() => readFile(here.checkpoint, "utf8"))).toBe("my notes\n")
      expect(here.tried.length).toBe(tried)
      yield* Effect.promise(() => truncate(here.checkpoint, 0))
      expect(yield* here.run(remembered)).toMatchObject({ code: 0 })
    }),
  )
})
