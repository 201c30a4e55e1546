import { spawn } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { environmentNames } from "../../../cli/Settings.ts"
import { exitCodesText } from "../../../cli/ExitCode.ts"
import { answers, record } from "./answers.ts"
import { type Command, makeCommand } from "./command.ts"
import { makeDeployment } from "./deployment.ts"

const guide = readFileSync(join(import.meta.dirname, "../../../docs/cli.md"), "utf8")

/** The commands of a text, without what follows in a pipe or a comment. */
const commandsOf = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/^ *(heddle [^\n]*)/gm)].map(([, line]) =>
    (line ?? "").replace(/ +# .*$| [|>] .*$/, ""),
  )

const shown = [...guide.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block]) =>
  commandsOf(block ?? ""),
)

const files = {
  "big.json": '{"order":"12"}',
  "batch.jsonl": '{"threadId":"order-12","input":{"order":"12"}}\n',
  "threads.txt": "order-12\n",
}

/** As a shell splits it into words. */
const wordsOf = (line: string): Promise<ReadonlyArray<string>> =>
  new Promise((resolve, reject) => {
    const child = spawn("sh", ["-c", `heddle() { printf '%s\\0' "$@"; }; ${line}`])
    let text = ""
    child.stdout.on("data", (chunk: Buffer) => (text += chunk.toString("utf8")))
    child.on("error", reject)
    child.on("close", () => resolve(text.split("\0").slice(0, -1)))
  })

const goesOnForEver = (line: string): boolean =>
  /^heddle (tail|watch)/.test(line) && !line.includes("--until")

/** Its exit code; one that would go on for ever is ended once it has said something. */
const codeOf = async (
  command: Command,
  env: Record<string, string>,
  line: string,
): Promise<readonly [number | null, string]> => {
  const args = await wordsOf(line)
  const running = command.start(args, { env, stdin: '{"order":"12"}' })
  if (goesOnForEver(line)) {
    await running.says("\n")
    running.child.kill("SIGINT")
  }
  const { code, stderr } = await running.ended
  return [code, stderr]
}

describe("docs/cli.md", () => {
  it.live(
    "shows commands that work, as the help does",
    () =>
      Effect.gen(function* () {
        const deployment = yield* makeDeployment({
          ...answers,
          history: () => ({ records: [record(1), record(2)] }),
        })
        const command = yield* makeCommand
        const token = yield* Effect.promise(() => deployment.tokenOf({ owners: ["*"] }))
        const env = { HEDDLE_URL: deployment.url, HEDDLE_OWNER: "shop-1", HEDDLE_TOKEN: token }
        for (const [name, text] of Object.entries(files)) {
          writeFileSync(join(command.folder, name), text)
        }
        const help = yield* Effect.promise(() => command.run(["--help"]))
        const names = [...help.stdout.matchAll(/^ {2}([a-z]+) {2,}\S/gm)].map(
          ([, name]) => name ?? "",
        )
        const helps = yield* Effect.forEach(names, (name) =>
          Effect.promise(() => command.run([name, "--help"])),
        )
        const examples = helps.flatMap(({ stdout }) =>
          commandsOf(stdout.slice(stdout.indexOf("EXAMPLES"))),
        )
        const lines = [...new Set([...shown, ...examples])]
        expect(lines.length).toBeGreaterThan(40)
        yield* Effect.forEach(
          lines,
          Effect.fnUntraced(function* (line) {
            const [code, stderr] = yield* Effect.promise(() => codeOf(command, env, line))
            const ends = goesOnForEver(line) ? 130 : 0
            const said = code === ends ? "" : stderr
            expect({ line, code, said }).toEqual({ line, code: ends, said: "" })
          }),
          { concurrency: 4 },
        )
        const used = new Set(guide.match(/\bheddle [a-z]+/g))
        expect(names.filter((name) => !used.has(`heddle ${name}`))).toEqual([])
      }),
    120_000,
  )

  it("tells the exit codes and the variables that there are", () => {
    const told = [...guide.matchAll(/^\| (\d+) \| (.*) \|$/gm)].map(
      ([, code, text]) => `  ${code}  ${text}`,
    )
    expect(exitCodesText.split("\n").slice(1)).toEqual(told)
    for (const name of Object.values(environmentNames)) expect(guide).toContain(`\`${name}\``)
  })
})
