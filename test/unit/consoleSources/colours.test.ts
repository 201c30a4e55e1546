/** That who sees little sees where to type: the colours of the console, as they are written down. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"

const style = join(import.meta.dirname, "../../../console/style")
const read = (name: string): string => readFileSync(join(style, name), "utf8")

/** Light, dark by the system, and dark by choice. */
const schemes = [...read("tokens.css").matchAll(/:root[^{]*\{([^}]*)\}/g)].map(
  ([, block = ""]) => block,
)

const colourIn = (block: string, name: string): string =>
  new RegExp(`--${name}: #([0-9a-f]{6})`).exec(block)?.[1] ?? ""

const luminanceOf = (colour: string): number => {
  const [red = 0, green = 0, blue = 0] = [0, 2, 4]
    .map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

const contrast = (one: string, other: string): number => {
  const [darker = 0, lighter = 0] = [luminanceOf(one), luminanceOf(other)].toSorted((a, b) => a - b)
  return (lighter + 0.05) / (darker + 0.05)
}

describe("the border of a field", () => {
  it("stands out from all it may lie on, in both colour schemes", () => {
    expect(schemes).toHaveLength(3)
    for (const block of schemes)
      for (const ground of ["paper", "panel", "raised"])
        expect(contrast(colourIn(block, "line-field"), colourIn(block, ground))).toBeGreaterThan(3)
  })

  it("is what fields have", () => {
    expect(read("base.css")).toMatch(
      /textarea,\nselect \{[^}]*border: 1px solid var\(--line-field\)/,
    )
  })
})
