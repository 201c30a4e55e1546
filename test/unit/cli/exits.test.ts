import { type AddressInfo, createServer } from "node:net"
import type { ServerResponse } from "node:http"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import * as Errors from "../../../contracts/Errors.ts"
import { AgentId, IdempotencyKey, ThreadId } from "../../../contracts/Identifiers.ts"
import { settlement, submissionId, threadId, token } from "../client/fakes.ts"
import { answers } from "./answers.ts"
import { makeCommand, type StartOptions } from "./command.ts"
import { type Answers, listening, makeDeployment } from "./deployment.ts"

const world = Effect.fnUntraced(function* (given: Answers = {}) {
  const deployment = yield* makeDeployment({ ...answers, ...given })
  const command = yield* makeCommand
  const env = {
    HEDDLE_URL: deployment.url,
    HEDDLE_OWNER: "shop-1",
    HEDDLE_TOKEN: deployment.token,
  }
  const run = (args: ReadonlyArray<string>, options: StartOptions = {}) =>
    Effect.promise(() => command.run(args, { ...options, env: { ...env, ...options.env } }))
  return { deployment, command, run }
})

const fails = (error: unknown) => () => Effect.fail(error)

const submit = ["submit", threadId, "-a", "refund", "-i", "{}"]
const abort = ["abort", threadId, submissionId, "-m", "no"]
const status = ["status", threadId, submissionId]

interface Refusal {
  readonly operation: string
  readonly error: { readonly _tag: string }
  readonly args: ReadonlyArray<string>
  readonly code: number
  /** What happened, and what to do next. */
  readonly says: ReadonlyArray<string>
}

const refusals: ReadonlyArray<Refusal> = [
  {
    operation: "submit",
    error: new Errors.AgentNotRegistered({ agent: AgentId.make("refund") }),
    args: submit,
    code: 1,
    says: ['There is no agent "refund"', "Check the name"],
  },
  {
    operation: "submit",
    error: new Errors.InvalidInput({ path: "input.order", reason: "Expected a number" }),
    args: submit,
    code: 1,
    says: ["at input.order: Expected a number", "Correct the request"],
  },
  {
    operation: "submit",
    error: new Errors.IdempotencyConflict({
      idempotencyKey: IdempotencyKey.make("k"),
      submissionId,
    }),
    args: submit,
    code: 1,
    says: ["The key was used with another input", "leave --key out"],
  },
  {
    operation: "submit",
    error: new Errors.AdmissionLimitExceeded({
      limit: "queuedPerThread",
      actual: 257,
      maximum: 256,
    }),
    args: submit,
    code: 1,
    says: ["queuedPerThread would be 257, and 256 is the limit", "the same --key"],
  },
  {
    operation: "abort",
    error: new Errors.SettlementConflict({ submissionId, outcome: "completed" }),
    args: abort,
    code: 1,
    says: ["It has settled already: completed", "heddle status"],
  },
  {
    operation: "abort",
    error: new Errors.ResolutionConflict({ first: "ann: other words" }),
    args: abort,
    code: 1,
    says: ["Another word came first: ann: other words", "the first decides"],
  },
  {
    operation: "retry",
    error: new Errors.NotAwaiting({ submissionId, name: "pay" }),
    args: ["retry", threadId, submissionId],
    code: 1,
    says: ["Nothing waits for this (pay)", "heddle explain"],
  },
  {
    operation: "resubmit",
    error: new Errors.NotSettled({ submissionId, state: "running" } as never),
    args: ["resubmit", threadId, submissionId],
    code: 1,
    says: ["It has not settled yet", "heddle wait"],
  },
  {
    operation: "resubmit",
    error: new Errors.InputPruned({ submissionId }),
    args: ["resubmit", threadId, submissionId],
    code: 1,
    says: ["Its input was pruned", "--input JSON"],
  },
  {
    operation: "forgetThread",
    error: new Errors.WorkOwed({ nonterminal: 2, outbox: 1 }),
    args: ["forget", threadId, "-m", "x", "--yes"],
    code: 1,
    says: ["2 open submissions", "--abort"],
  },
  {
    operation: "status",
    error: new Errors.InternalDefect({ reference: "r-1" }),
    args: status,
    code: 1,
    says: ["reference r-1"],
  },
  {
    operation: "status",
    error: new Errors.StorageUnavailable({ operation: "read" }),
    args: status,
    code: 3,
    says: ["nothing was changed", "Try again"],
  },
  {
    operation: "status",
    error: new Errors.Unavailable({ retryable: false, overloaded: true, reason: "Too much" }),
    args: status,
    code: 3,
    says: ["Too much", "after a longer pause"],
  },
  {
    operation: "submit",
    error: new Errors.Unavailable({ retryable: true, overloaded: false, reason: "Gone" }),
    args: submit,
    code: 3,
    says: ["Gone", "Repeat it with --key "],
  },
  {
    operation: "status",
    error: new Errors.OperationDenied({ operation: "status" }),
    args: status,
    code: 4,
    says: ["may not status for owner shop-1, thread order-7", "--owner"],
  },
  {
    operation: "callback",
    error: new Errors.OperationDenied({ operation: "callback" }),
    args: ["callback", token],
    code: 4,
    says: ["may not callback", "mistyped, or its run has settled", "--owner"],
  },
  {
    operation: "signal",
    error: new Errors.AdmissionLimitExceeded({ limit: "recordBytes", actual: 9, maximum: 8 }),
    args: ["signal", threadId, submissionId, "carrier"],
    code: 1,
    says: ["recordBytes would be 9", "the limit of one value"],
  },
  {
    operation: "status",
    error: new Errors.SubmissionNotFound({ submissionId }),
    args: status,
    code: 5,
    says: [`no submission ${submissionId}`, "heddle threads"],
  },
  {
    operation: "status",
    error: new Errors.ThreadForgotten({ threadId: ThreadId.make(threadId), forgottenAt: 1 }),
    args: status,
    code: 5,
    says: ["forgotten at 1970", "another thread id"],
  },
]

describe.each(refusals)("heddle, when $operation answers $error._tag", (refusal) => {
  const { args, code, error, operation, says } = refusal
  it.live(`ends with ${code} and says what to do`, () =>
    Effect.gen(function* () {
      const { run } = yield* world({ [operation]: fails(error) })
      const people = yield* run(args)
      expect(people).toMatchObject({ code, stdout: "" })
      for (const text of says) expect(people.stderr).toContain(text)
      expect(people.stderr).not.toMatch(/\bat .*\.(js|ts):\d/)
      const machines = yield* run([...args, "--json"])
      const line = machines.stderr.trim().split("\n").at(-1) ?? ""
      expect(JSON.parse(line)).toMatchObject({ exitCode: code, error: { _tag: error._tag } })
    }),
  )
})

describe("heddle, waiting", () => {
  it.live("ends with 6 when it settled failed or aborted, and shows how", () =>
    Effect.gen(function* () {
      const { output: _, ...rest } = settlement
      const failure = { tag: "Declined", message: "over the limit", error: { code: 7 } }
      for (const [end, text] of [
        [{ outcome: "failed", failure }, "over the limit"],
        [{ outcome: "aborted", abort: { author: "ann", reason: "twice", forced: true } }, "twice"],
      ] as const) {
        const settled = { ...rest, ...end }
        const { run } = yield* world({
          awaitSettlement: () => ({ _tag: "Settled", settlement: settled }),
        })
        for (const args of [
          ["wait", threadId, submissionId],
          [...submit, "--wait"],
        ]) {
          const people = yield* run(args)
          expect(people).toMatchObject({ code: 6, stdout: expect.stringContaining(text) as string })
          const machines = yield* run([...args, "--json"])
          expect(machines.code).toBe(6)
          expect(machines.stdout).toContain(end.outcome)
          expect(() => JSON.parse(machines.stdout) as unknown).not.toThrow()
        }
      }
    }),
  )

  it.live("ends with 7 when the time is up, and the receipt is not lost", () =>
    Effect.gen(function* () {
      const { run } = yield* world({
        awaitSettlement: () => Effect.as(Effect.sleep(50), { _tag: "Pending" }),
        runMaintenance: () => ({ _tag: "Pending" }),
      })
      const waited = yield* run(["wait", threadId, submissionId, "--timeout", "300ms"])
      expect(waited).toMatchObject({ code: 7, stdout: "" })
      expect(waited.stderr).toContain("heddle explain")
      const submitted = yield* run([...submit, "--wait", "--timeout", "300ms", "--json"])
      expect(submitted.code).toBe(7)
      expect(JSON.parse(submitted.stdout)).toMatchObject({ receipt: { submissionId } })
      expect((yield* run(["maintenance", "--run"])).code).toBe(7)
    }),
  )

  it.live("does not lose the receipt to Ctrl-C, for machines either", () =>
    Effect.gen(function* () {
      const { command, deployment } = yield* world({ awaitSettlement: () => Effect.never })
      const env = {
        HEDDLE_URL: deployment.url,
        HEDDLE_OWNER: "shop-1",
        HEDDLE_TOKEN: deployment.token,
      }
      const running = command.start([...submit, "--wait", "--json"], { env })
      yield* Effect.promise(() =>
        vi.waitUntil(() => deployment.payloads("awaitSettlement").length > 0, { timeout: 15_000 }),
      )
      running.child.kill("SIGINT")
      const { code, stdout } = yield* Effect.promise(() => running.ended)
      expect(code).toBe(130)
      expect(JSON.parse(stdout)).toMatchObject({ receipt: { submissionId } })
    }),
  )

  it.live("ends with 130 at Ctrl-C", () =>
    Effect.gen(function* () {
      const { command, deployment } = yield* world({ awaitSettlement: () => Effect.never })
      const env = {
        HEDDLE_URL: deployment.url,
        HEDDLE_OWNER: "shop-1",
        HEDDLE_TOKEN: deployment.token,
      }
      const running = command.start([...submit, "--wait"], { env })
      yield* Effect.promise(() => running.says(submissionId))
      running.child.kill("SIGINT")
      expect(yield* Effect.promise(() => running.ended)).toMatchObject({ code: 130, stderr: "" })
    }),
  )
})

describe("heddle, misused", () => {
  const usages: ReadonlyArray<readonly [ReadonlyArray<string>, string, string?]> = [
    [["sbmit"], "Did you mean"],
    [["status", "a b", submissionId], "a thread id: 1 to 128 characters"],
    [["status", threadId, "7"], "a submission id as a receipt has it"],
    [["status", threadId], "Missing required argument: submission"],
    [["status", threadId, submissionId, "--loud"], "Unrecognized flag: --loud"],
    [["submit", threadId, "-a", "refund"], "Give the input once"],
    [["submit", threadId, "-i", "{}"], "Name the agent"],
    [["submit", "-a", "refund", "-i", "{}"], "Name the thread"],
    [["submit", threadId, "-a", "refund", "-i", "{}", "--stdin"], "Give the input once"],
    [["submit", threadId, "-a", "refund", "-i", '{"a": tru}'], "--input:1:7: not JSON"],
    [["submit", threadId, "-a", "refund", "--stdin"], "standard input:2:6: not JSON", '{\n "a" 1}'],
    [["submit", threadId, "-a", "refund", "-f", "none.json"], "none.json cannot be read (ENOENT)"],
    [["submit", threadId, "-a", "refund", "-i", "1", "--timeout", "soon"], "90s"],
    [["submit", threadId, "-a", "refund", "-i", "1", "--checkpoint", "c"], "for --jsonl"],
    [["abort", threadId, submissionId], "Missing required flag: --reason"],
    [["abort", "-m", "x"], "or say --all"],
    [["abort", "--all", "-m", "x"], "Say --yes"],
    [["abort", threadId, submissionId, "-m", "x", "--state", "ready"], "are for --all"],
    [["forget", threadId, "-m", "x"], "Say --yes"],
    [["approve", threadId, submissionId], "Missing required argument: name"],
    [["deny", threadId, submissionId, "a\nb"], "1 to 128 printable characters"],
    [["signal", threadId, submissionId, "n", "--payload", "{"], "--payload:1:2: not JSON"],
    [
      ["signal", threadId, submissionId, "n", "--payload", "1", "--payload-file", "-"],
      "Give the payload once",
    ],
    [["callback", token.slice(0, -1)], "no callback token: owner~thread~"],
    [["schedule", threadId, "n", "--agent", "a", "-i", "1"], "Missing required flag: --cron"],
    [["search", ""], "1 to 512 characters"],
    [["threads", "--state", "lost"], "faulted"],
    [["threads", "--active-after", "soon"], "a moment such as"],
    [["history", threadId, "--before", "5", "--all"], "--before goes backwards"],
    [["reconcile"], "Name threads"],
    [["reconcile", "a/b"], "no thread id"],
    [["threads", "--url", "ftp://x"], "is no address"],
    [["threads", "--url", "http://u:p@x"], "holds a name or a password"],
    [["threads", "--owner", "a/b"], "is no owner"],
    [["threads", "--owner", ""], "--owner is empty"],
    [["threads", "--token", ""], "--token is empty"],
    [["submit", threadId, "-a", "refund", "-i", '{"a":1e999}'], "a number in it is too large"],
    [
      ["submit", threadId, "-a", "refund", "--stdin"],
      "standard input: nested deeper than 1000",
      "[".repeat(10_000) + "]".repeat(10_000),
    ],
    [
      ["submit", "-a", "refund", "--jsonl", "-"],
      "nested deeper",
      `{"threadId":"t","input":${"[".repeat(1_200)}${"]".repeat(1_200)}}`,
    ],
    [["reconcile", "-f", "none.txt"], "none.txt cannot be read (ENOENT)"],
    [["threads", "--profile", "none"], 'There is no profile "none"'],
    [["threads", "--config", "none.toml"], "none.toml: cannot be read"],
  ]

  it.live("ends with 2, says what is wrong, and sends nothing", () =>
    Effect.gen(function* () {
      const { deployment, run } = yield* world()
      yield* Effect.forEach(
        usages,
        Effect.fnUntraced(function* ([args, text, stdin]) {
          const ended = yield* run(args, stdin === undefined ? {} : { stdin })
          expect({ args, ...ended }).toMatchObject({ args, code: 2, stdout: "" })
          expect(ended.stderr).toContain(text)
          // Of a token that is nearly one, a shell's log keeps nothing.
          expect(ended.stderr).not.toContain("5e5e5e5e")
        }),
        { concurrency: 4, discard: true },
      )
      for (const args of [["sbmit"], ["status", threadId, "7"], ["reconcile"]]) {
        const { code, stderr } = yield* run([...args, "--json"])
        expect(code).toBe(2)
        expect(JSON.parse(stderr)).toMatchObject({ exitCode: 2 })
      }
      expect(deployment.asked).toEqual([])
      expect(deployment.asked).toEqual([])
      for (const name of ["HEDDLE_URL", "HEDDLE_OWNER"]) {
        expect(yield* run(["threads"], { env: { [name]: "" } })).toMatchObject({ code: 2 })
      }
    }),
  )
})

describe("heddle, with a token that does not do", () => {
  it.live("ends with 4, says why, and shows no token", () =>
    Effect.gen(function* () {
      const { command, deployment, run } = yield* world()
      const expired = yield* Effect.promise(() => deployment.tokenOf({}, -3_600))
      const stranger = yield* Effect.promise(() => deployment.tokenOf({ owners: ["other"] }))
      const broken = join(command.folder, "broken.token")
      yield* Effect.promise(() => writeFile(broken, "secret with spaces\n"))
      const forged = "aaaaaaaaaa.bbbbbbbbbb.cccccccccc"
      for (const [env, text] of [
        [{ HEDDLE_TOKEN: "" }, "There is no token"],
        [{ HEDDLE_TOKEN: expired }, "The token has expired"],
        [{ HEDDLE_TOKEN: forged }, "The token is not valid"],
        [{ HEDDLE_TOKEN: stranger }, "may not listThreads for owner shop-1"],
        [{ HEDDLE_TOKEN: "", HEDDLE_TOKEN_FILE: broken }, "characters that no token has"],
        [{ HEDDLE_TOKEN: "", HEDDLE_TOKEN_FILE: "none" }, "cannot be read"],
        [
          { HEDDLE_TOKEN: "", HEDDLE_TOKEN_COMMAND: "echo leaked >&2; exit 1" },
          "command that gives",
        ],
      ] as const) {
        for (const args of [["threads"], ["threads", "--json"]]) {
          const ended = yield* run(args, { env })
          expect({ env, ...ended }).toMatchObject({ env, code: 4, stdout: "" })
          expect(ended.stderr).toContain(text)
          for (const secret of [expired, forged, stranger, "secret with", "leaked"]) {
            expect(ended.stderr).not.toContain(secret)
          }
        }
      }
    }),
  )
})

describe("heddle, where no deployment is", () => {
  const endless = (text: string) => (response: ServerResponse) => {
    response.writeHead(200, { "content-type": "application/x-ndjson" })
    const push = () => {
      while (response.write(text.repeat(10_000)));
    }
    response.on("drain", push)
    push()
  }
  const plainAnswer =
    (code: number, headers: Record<string, string> = {}, body = "") =>
    (response: ServerResponse) =>
      response.writeHead(code, headers).end(body)

  const servers: ReadonlyArray<readonly [string, (response: ServerResponse) => unknown, string]> = [
    ["a page", plainAnswer(200, { "content-type": "text/html" }, "<html>"), "text/html"],
    [
      "a redirect",
      plainAnswer(302, { location: "https://evil.test/" }),
      "redirects to https://evil",
    ],
    ["nothing there", plainAnswer(404), "does not take calls (status 404)"],
    ["a bad gateway", plainAnswer(502, {}, "<html>"), "status 502"],
    ["too many", plainAnswer(429), "status 429"],
    ["an endless line", endless("x"), "lines that are not JSON"],
    ["an endless text", endless('{"a":'), "a line without an end"],
    ["endless empty lines", endless("\n"), "empty lines without an end"],
    [
      "lines of another protocol",
      plainAnswer(200, { "content-type": "application/x-ndjson" }, '{"hello":1}\n'),
      "connection to the object was lost",
    ],
    ["silence", () => undefined, "did not answer within 0.5 s"],
  ]

  for (const [what, serve, text] of servers) {
    it.live(`ends with 3 and says so: ${what}`, () =>
      Effect.gen(function* () {
        const { run } = yield* world()
        const url = yield* listening((_, response) => serve(response))
        const ended = yield* run([...status, "--url", url, "--connect-timeout", "500ms"])
        expect(ended).toMatchObject({ code: 3, stdout: "" })
        expect(ended.stderr).toContain(text)
        expect(ended.stderr).toContain(url)
        expect(ended.stderr).not.toMatch(/\bat .*\.(js|ts):\d/)
      }),
    )
  }

  it.live("refuses itself what no deployment would take, and what would mean nothing", () =>
    Effect.gen(function* () {
      const { deployment, run } = yield* world()
      const longAuthor = { env: { HEDDLE_AUTHOR: "a".repeat(300) } }
      for (const [args, text, options] of [
        [[...submit, "--timeout", "5m"], "is for --wait"],
        [["resubmit", threadId, submissionId, "--timeout", "5m"], "is for --wait"],
        [[...submit, "--title", "t".repeat(300)], "title"],
        [[...submit, "--not-before", "2026-02-30T00:00:00Z"], "a moment such as"],
        [abort, "author", longAuthor],
      ] as const) {
        const ended = yield* run(args, options ?? {})
        expect({ args, ...ended }).toMatchObject({ args, code: 2, stdout: "" })
        expect(ended.stderr).toContain(text)
      }
      const told = yield* run(["sbmit", "--json=true"])
      expect(JSON.parse(told.stderr)).toMatchObject({ exitCode: 2 })
      expect((yield* run(["status", "--json", "false"])).stderr).toMatch(/^heddle: /)
      expect(deployment.asked).toEqual([])
    }),
  )

  it.live("asks again for a pass until the time that it was given is over", () =>
    Effect.gen(function* () {
      const { deployment, run } = yield* world({ runMaintenance: () => ({ _tag: "Pending" }) })
      const ended = yield* run(["maintenance", "--run", "--timeout", "1200ms"])
      expect(ended).toMatchObject({ code: 7 })
      const asked = deployment.payloads("runMaintenance").map(({ timeoutMillis }) => timeoutMillis)
      expect(asked.length).toBeGreaterThan(1)
      expect(asked[0]).toBe(1_200)
      expect(asked).toEqual(asked.toSorted((first, second) => Number(second) - Number(first)))
    }),
  )

  it.live("means nothing by what is older than time itself", () =>
    Effect.gen(function* () {
      const { deployment, run } = yield* world()
      const args = ["retry", "--all", "--older-than", "30000d", "--dry-run"]
      expect(yield* run(args)).toMatchObject({ code: 0 })
      expect(deployment.payloads("retryMany")).toMatchObject([{ filter: { acceptedBefore: 0 } }])
    }),
  )

  it.live("waits as long as it is told to, and be it for a month", () =>
    Effect.gen(function* () {
      const { run } = yield* world()
      expect(yield* run([...status, "--connect-timeout", "30d"])).toMatchObject({ code: 0 })
    }),
  )

  it.live("tells the key of a submit wherever it may have been accepted, and only there", () =>
    Effect.gen(function* () {
      const { run } = yield* world()
      for (const [serve, path] of [
        [() => undefined, ""],
        [plainAnswer(502, {}, "<html>"), ""],
        [plainAnswer(504), "/rpc"],
        [plainAnswer(200, { "content-type": "text/html" }, "<html>"), ""],
      ] as const) {
        const url = yield* listening((_, response) => serve(response))
        const args = ["--url", `${url}${path}`, "--connect-timeout", "500ms", "--key", "k-1"]
        const ended = yield* run([...submit, ...args])
        expect(ended).toMatchObject({ code: 3, stdout: "" })
        expect(ended.stderr).toContain("Repeat it with --key k-1")
      }
      const closed = yield* Effect.scoped(listening(() => undefined))
      expect((yield* run([...submit, "--url", closed])).stderr).not.toContain("--key")
      const denied = yield* world({
        submit: fails(new Errors.AgentNotRegistered({ agent: AgentId.make("refund") })),
      })
      expect((yield* denied.run(submit)).stderr).not.toContain("Repeat it with --key")
    }),
  )

  it.live("tells the key of a submit that was refused after a try without an answer", () =>
    Effect.gen(function* () {
      const { run } = yield* world()
      const refused = plainAnswer(401, {}, '{"_tag":"Unauthenticated","reason":"It has expired"}\n')
      for (const [key, says] of [
        ["k-1", "--key k-1:"],
        ["it's mine", "--key 'it'\\''s mine':"],
        ["-x", "--key=-x:"],
      ] as const) {
        let tries = 0
        const url = yield* listening((_, response) => {
          tries += 1
          if (tries === 1) response.destroy()
          else refused(response)
        })
        const ended = yield* run([...submit, "--url", url, `--key=${key}`])
        expect(ended).toMatchObject({ code: 4, stdout: "" })
        expect(ended.stderr).toContain(`Repeat it with ${says}`)
      }
      const url = yield* listening((_, response) => refused(response))
      expect((yield* run([...submit, "--url", url])).stderr).not.toContain("--key")
    }),
  )

  it.live("ends with 3 and says so: nobody listens, no such name, no HTTP", () =>
    Effect.gen(function* () {
      const { run } = yield* world()
      const closed = yield* Effect.scoped(listening(() => undefined))
      const nobody = yield* run([...submit, "--url", closed])
      expect(nobody.stderr).toContain("Nothing listens at")
      expect(nobody.stderr).toContain("Check --url")
      const unknown = yield* run([...status, "--url", "https://no-such-host.invalid"])
      expect(unknown).toMatchObject({ code: 3 })
      expect(unknown.stderr).toContain("no-such-host.invalid")
      const raw = createServer((socket) => {
        socket.on("data", () => socket.end("220 mail.test ready\r\n"))
      })
      yield* Effect.acquireRelease(
        Effect.callback<void>((resume) => {
          raw.listen(0, "127.0.0.1", () => resume(Effect.void))
        }),
        () => Effect.sync(() => raw.close()),
      )
      const url = `http://127.0.0.1:${(raw.address() as AddressInfo).port}`
      const other = yield* run([...status, "--url", url])
      expect(other).toMatchObject({ code: 3 })
      expect(other.stderr).toContain("does not speak HTTP")
    }),
  )

  it.live("warns before a token goes over a network unencrypted", () =>
    Effect.gen(function* () {
      const { run } = yield* world()
      const ended = yield* run([...status, "--url", "http://no-such-host.invalid"])
      expect(ended.stderr).toContain("the token goes to no-such-host.invalid unencrypted")
    }),
  )
})
