import { Schema } from "effect"
import { Rpc } from "effect/rpc"
import { describe, expect, it } from "vitest"
import { Description } from "../../../contracts/Description.ts"
import { readContract } from "../../../scripts/generate/contract.ts"
import { errorsGuide } from "../../../scripts/generate/errorsGuide.ts"

class Worn extends Schema.TaggedError<Worn>()(
  "Worn",
  {
    threads: Schema.Int.annotateKey({ description: "How many | of them." }),
    since: Schema.optionalKey(Schema.String),
  },
  { description: "A thread is worn. Remedy: wind a new one." },
) {}
const told = (tag: string, success: Schema.Top = Schema.Null) =>
  Rpc.make(tag, { success }).annotate(Description, "Does it.")
const failing = (tag: string) => Rpc.make(tag, { error: Worn }).annotate(Description, "Does it.")
const guideOf = (...rpcs: ReadonlyArray<Rpc.Any>) =>
  errorsGuide(readContract({ requests: new Map(rpcs.map((rpc, nth) => [String(nth), rpc])) }))

describe("the guide to errors", () => {
  it("tells of each error what it means, its remedy, its fields and who raises it", () => {
    const guide = guideOf(failing("weave"), told("wind"))
    expect(guide.slice(guide.indexOf("## `Worn`"))).toBe(`## \`Worn\`

A thread is worn.

**Remedy.** Wind a new one.

| field | type | |
| --- | --- | --- |
| \`threads\` | \`number\` | How many \\| of them. |
| \`since\`, if known | \`string\` |  |

Raised by \`weave\`.
`)
  })

  it("is short about what nearly every operation raises", () => {
    const four = ["weave", "wind", "warp", "shed"].map(failing)
    expect(guideOf(...four)).toContain("Raised by every operation.\n")
    expect(guideOf(...four, told("look"))).toContain("Raised by every operation but `look`.\n")
  })

  it("tells where an error stands in an answer", () => {
    const outcome = Schema.Struct({ refused: Schema.optionalKey(Worn) })
    const guide = guideOf(failing("weave"), told("weaveMany", Schema.Array(outcome)))
    expect(guide).toContain(
      "Raised by `weave`. Told of one among many in the answer of `weaveMany`.",
    )
  })

  it("has every error of the contract, each with a remedy", () => {
    const contract = readContract()
    const sections = errorsGuide(contract).split("\n## ").slice(1)
    expect(sections.map((text) => text.split("`")[1])).toEqual(
      contract.errors.map(({ tag }) => tag),
    )
    for (const text of sections) expect(text).toMatch(/\*\*Remedy\.\*\* [A-Z].+\.\n/)
  })
})
