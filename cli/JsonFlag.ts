/**
 * Whether a command line asks for JSON, before it is parsed: what is wrong with it is told in the same way.
 *
 * The forms are those that `effect/cli` takes of a flag that is true or not; behind `--` there are no flags.
 */

const no = /^(false|no|off|0|n)$/

export const asksForJson = (args: ReadonlyArray<string>): boolean => {
  const end = args.indexOf("--")
  const flags = end < 0 ? args : args.slice(0, end)
  let asks = false
  for (const [at, flag] of flags.entries()) {
    const next = flags[at + 1] ?? ""
    if (flag === "--json") asks = !no.test(next)
    else if (flag.startsWith("--json=")) asks = !no.test(flag.slice("--json=".length))
    else if (flag === "--no-json") asks = false
  }
  return asks
}
