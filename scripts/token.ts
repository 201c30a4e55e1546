/**
 * Prints a token for local use, and nothing else, so that a shell can take it:
 * `TOKEN=$(npm run --silent token -- --principal me --owners 'demo-*')`.
 */
import { HeddleRpc } from "../contracts/HeddleRpc.ts"
import { flagsOf, runScript, UsageError } from "./flags.ts"
import { localSecret } from "./localSecret.ts"
import { decodeGrants, mintToken } from "./mintToken.ts"

const usage = `Usage: npm run --silent token -- --principal NAME --owners PATTERN [options]

Prints a bearer token, signed with HEDDLE_JWT_SECRET from the environment or from .dev.vars (made
there on first use).

  --principal NAME     who calls; idempotency keys are this principal's own
  --owners PATTERN     the owners it may touch; * stands for any characters. Repeatable, or a,b
  --threads PATTERN    only these threads of the owners. Repeatable, or a,b
  --operations NAMES   only these operations, for example submit,list*. Repeatable, or a,b
  --expires DURATION   how long it is valid: 90s, 30m, 1h, 7d (default 1h)`

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 }

/** Seconds of a duration such as `90s` or `1h`. */
const secondsOf = (text: string): number => {
  const [, amount, unit = ""] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  const seconds = Number(amount) * (unitSeconds[unit] ?? 0)
  if (seconds > 0) return seconds
  throw new UsageError(`--expires ${text}: write a duration such as 90s, 30m, 1h or 7d`)
}

/** The values of a flag that may be repeated and may hold several. */
const listOf = (values: ReadonlyArray<string> | undefined): ReadonlyArray<string> | undefined =>
  values?.flatMap((value) => value.split(",")).filter((value) => value !== "")

const readGrants = (claims: Readonly<Record<string, unknown>>) => {
  try {
    return decodeGrants(claims)
  } catch (error) {
    throw new UsageError(`These grants are not valid: ${String(error)}`)
  }
}

await runScript(usage, async () => {
  const flags = flagsOf({
    principal: { type: "string" },
    owners: { type: "string", multiple: true },
    threads: { type: "string", multiple: true },
    operations: { type: "string", multiple: true },
    expires: { type: "string", default: "1h" },
  })
  const owners = listOf(flags.owners)
  if (flags.principal === undefined || owners === undefined || owners.length === 0) {
    throw new UsageError("Say who calls (--principal) and whose threads it may touch (--owners)")
  }
  const threads = listOf(flags.threads)
  const operations = listOf(flags.operations)
  const unknown =
    operations?.filter((name) => !name.includes("*") && !HeddleRpc.requests.has(name)) ?? []
  if (unknown.length > 0) {
    throw new UsageError(
      `No such operation: ${unknown.join(", ")}. There are ${[...HeddleRpc.requests.keys()].join(", ")}`,
    )
  }
  const grants = readGrants({
    principal: flags.principal,
    owners,
    ...(threads === undefined ? {} : { threads }),
    ...(operations === undefined ? {} : { operations }),
  })
  const expiresInSeconds = secondsOf(flags.expires)
  console.log(await mintToken({ grants, secret: await localSecret(), expiresInSeconds }))
})
