/** What the flags of `npm run simulate` ask for; what is no number, or means nothing, is refused: a run of no seed would look green. */
import { describe, expect, it } from "vitest"
import { UsageError } from "../../../scripts/flags.ts"
import { askedOf, type SimulateFlags } from "../../../scripts/simulateFlags.ts"

const cores = 4

describe("the flags of the simulation", () => {
  it("ask for seeds, one seed or the controls", () => {
    expect(askedOf({}, cores)).toEqual({
      _tag: "Seeds",
      seeds: { from: 1, to: 1_000 },
      workers: cores,
      json: false,
      hashes: false,
    })
    expect(askedOf({ seeds: "7..7", workers: "9", json: true, hashes: true }, cores)).toMatchObject(
      { _tag: "Seeds", seeds: { from: 7, to: 7 }, workers: cores, hashes: true },
    )
    expect(askedOf({ workers: "2" }, cores)).toMatchObject({ workers: 2 })
    expect(askedOf({ seed: "0", json: true }, cores)).toMatchObject({ _tag: "One", seed: 0 })
    expect(askedOf({ seed: "274", trace: true }, cores)).toMatchObject({ seed: 274, trace: true })
    expect(askedOf({ controls: true, only: "no fence" }, cores)).toMatchObject({
      _tag: "Controls",
      only: "no fence",
      search: false,
    })
    expect(askedOf({ controls: true, search: true, seeds: "5..9" }, cores)).toMatchObject({
      seeds: { from: 5, to: 9 },
    })
  })

  const refused: ReadonlyArray<readonly [string, SimulateFlags]> = [
    ["--seed takes a number", { seed: "abc" }],
    ["--seed takes a number", { seed: "" }],
    ["--seed takes a number", { seed: "1.5" }],
    ["--seed takes a number", { seed: "-1" }],
    ["--seed takes a number", { seed: "99999999999999999999" }],
    ["--seeds takes A..B", { seeds: "1" }],
    ["--seeds takes A..B", { seeds: "9..1" }],
    ["--seeds takes A..B", { seeds: "1..99999999999999999999" }],
    ["--workers takes a number", { workers: "x" }],
    ["--workers takes a number", { workers: "0" }],
    ["--seeds means nothing with --seed", { seed: "5", seeds: "1..100" }],
    ["--hashes means nothing with --seed", { seed: "5", hashes: true }],
    ["--trace means nothing with --json", { seed: "5", trace: true, json: true }],
    ["--trace means nothing with --seeds", { trace: true }],
    ["--only means nothing with --seeds", { only: "no fence" }],
    ["--search means nothing with --seeds", { search: true }],
    ["--hashes means nothing without --json", { hashes: true }],
    ["--seed", { controls: true, seed: "5" }],
    ["--seeds means nothing with --controls", { controls: true, seeds: "1..9" }],
  ]

  it.each(refused)("are refused: %s %o", (words, flags) => {
    expect(() => askedOf(flags, cores)).toThrow(UsageError)
    expect(() => askedOf(flags, cores)).toThrow(words)
  })
})
