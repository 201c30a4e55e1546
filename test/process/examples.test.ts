/** The guide to the examples, command for command, against the Worker of the examples. */
import { execFile } from "node:child_process"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, expect, it } from "vitest"
import { buildCli } from "../../scripts/buildCli.ts"
import { mintToken } from "../../scripts/mintToken.ts"
import { type RunningWorkerd, startWorkerd } from "../../scripts/workerd.ts"
import { repositoryRoot } from "../../scripts/workerBuild.ts"
import { secret } from "./server.ts"

let running: RunningWorkerd
let folder = ""
let command = ""

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "heddle-examples-"))
  command = await buildCli(join(folder, "cli"))
  running = await startWorkerd({ persistDir: join(folder, "disk"), secret })
})

afterAll(async () => {
  await running.kill()
  await rm(folder, { recursive: true, force: true })
})

/** The guide's own functions; what is not there yet is asked for again, as somebody at a terminal would. */
const functions = `
heddle() {
  local tries=0 code=0
  while :; do
    node "$COMMAND" "$@"; code=$?
    tries=$((tries + 1))
    [ $code -eq 1 ] && [ $tries -lt 20 ] || break
  done
  echo "ended $code: $1 $2" >&2
  return $code
}
open() { heddle explain "$1" --json | node -p 'JSON.parse(fs.readFileSync(0))[0].submissionId'; }
`

it("each example does what the guide says of it", async () => {
  const guide = await readFile(join(repositoryRoot, "docs/try-the-examples.md"), "utf8")
  const [serve = "", setUp = "", ...blocks] = [...guide.matchAll(/```sh\n([\s\S]*?)```/g)].map(
    ([, text]) => text ?? "",
  )
  expect(serve).toContain("npm run dev")
  expect(setUp).toContain("npm run --silent heddle --")
  expect(blocks.length).toBe(8)
  const token = await mintToken({
    grants: { principal: "me" as never, owners: ["shop-*"] },
    secret,
    expiresInSeconds: 600,
  })
  const env = {
    ...process.env,
    PATH: `${join(repositoryRoot, "node_modules", ".bin")}:${process.env["PATH"]}`,
    COMMAND: command,
    HEDDLE_URL: running.url,
    HEDDLE_OWNER: "shop-1",
    HEDDLE_TOKEN: token,
  }
  const { stdout, stderr } = await promisify(execFile)(
    "bash",
    ["-c", `${functions}\n${blocks.join("\n")}\ntrue`],
    { cwd: repositoryRoot, env, maxBuffer: 16 * 1024 * 1024, timeout: 150_000 },
  )
  const ended = [...stderr.matchAll(/ended (\d+): (.*)/g)].map(
    ([, code, what]) => `${code} ${what}`,
  )
  expect(ended.filter((line) => !line.startsWith("0 "))).toEqual([
    "6 submit order-20",
    "6 submit checkout-2",
  ])
  expect(ended.length).toBeGreaterThan(18)
  for (const told of [
    '"ordersSoFar": 2',
    '"refunded": true',
    '"heard": 1',
    "NotReserved",
    "warp-",
    '"station":"station-c"',
    '"done": true',
    '"transaction": "t-1"',
    "Declined",
  ])
    expect(stdout).toContain(told)
}, 180_000)
