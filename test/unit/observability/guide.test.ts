/** The guide to observing names what the code tells, and nothing else. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { OwnerTotals } from "../../../contracts/Maintenance.ts"
import { counters, histograms } from "../../../contracts/observability/Metrics.ts"
import { spans } from "../../../contracts/observability/Spans.ts"
import { totalNames } from "../../../owner-object/Totals.ts"

const root = join(import.meta.dirname, "../../..")
const read = (path: string): string => readFileSync(join(root, path), "utf8")
const guide = read("docs/observe.md")
const words = guide.replace(/```ts[\s\S]*?```/, "")
const product = [
  "contracts/observability/Spans.ts",
  "owner-object/Pass.ts",
  "owner-object/CarryEntry.ts",
  "owner-object/Flight.ts",
  "thread-actors/Attempt.ts",
  "thread-actors/Step.ts",
  "thread-actors/ToolTry.ts",
  "thread-actors/Reconcile.ts",
]
  .map(read)
  .join("\n")

const metrics = [...Object.values(counters), ...Object.values(histograms)]
const namedIn = (text: string) =>
  new Set([...text.matchAll(/\bheddle(\.[a-z]+)+/g)].map(([name]) => name))

/** The texts of files that log; the places of a template that are filled in stand as `${}`. */
const texts = ["client", "contracts", "owner-object", "platform", "thread-actors"]
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => read(join(folder, name))),
  )
  .filter((code) => /\bEffect\.log[A-Z]|\btellOnce\(/.test(code))
  .flatMap((code) => [
    ...code
      .replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "")
      .replaceAll(/\$\{[^}]*\}/g, "${}")
      .matchAll(/`([^`]*)`|"([^"\n]*)"/g),
  ])
  .map(([, template, plain]) => template ?? plain ?? "")
  .filter((text) => /[a-z]{3}/.test(text))

/** What a line says behind a colon need not be quoted. */
const shapes = texts
  .flatMap((text) => [text, text.replace(/: \$\{\}$/, "")])
  .map((text) => text.split("${}").map((part) => part.replaceAll(/[^\w\s]/g, "\\$&")))
  .map((parts) => new RegExp(`^${parts.join("(.+)")}$`))

/** Whether the code has such a line; what fills its places is a text of the code, or a word for any. */
const isLogged = (line: string): boolean =>
  /^[A-Z]+$/.test(line) ||
  shapes.some((shape) => shape.exec(line)?.slice(1).every(isLogged) ?? false)

const linesQuotedIn = (text: string): ReadonlyArray<string> => [
  ...[...text.matchAll(/"message":"([^"]+)"/g)].map(([, line = ""]) => line),
  ...[...text.matchAll(/`([a-z]+ [a-z]+ [^`{}]+|[a-z]+ "[^`]+)`/g)].map(([, line = ""]) => line),
]

describe("the guide to observing", () => {
  it("quotes lines of the log that the code writes", () => {
    const quoted = linesQuotedIn(guide)
    expect(quoted.length).toBeGreaterThan(3)
    expect(quoted.filter((line) => !isLogged(line))).toEqual([])
  })

  it("has a row for each metric, with its unit", () => {
    const rows = guide.split("\n")
    for (const { name, unit } of metrics)
      expect(rows.filter((row) => row.startsWith(`| \`${name}\` | \`${unit}\` |`))).toHaveLength(1)
  })

  it("names each span and each attribute that the code tells", () => {
    for (const name of Object.values(spans)) expect(guide).toContain(name)
    for (const [, name = ""] of product.matchAll(/"(heddle\.[a-z.]+)":/g))
      expect(guide).toContain(name)
  })

  it("names no metric, span or attribute that there is not", () => {
    const known = [
      ...namedIn(product),
      ...metrics.map(({ name }) => name),
      "heddle.outcome",
      "heddle.object",
    ]
    const calls = /^heddle\.(client|edge|owner|thread|registry)(\.\w+)?$/
    const unknown = [...namedIn(words)].filter((name) => !known.includes(name) && !calls.test(name))
    expect(unknown).toEqual([])
  })

  it("lists the totals of an owner, which are those of its status", () => {
    expect(Object.keys(OwnerTotals.fields)).toEqual([...totalNames])
    for (const name of totalNames) expect(guide).toContain(`\`${name}\``)
  })

  it("shows the deployment that the example is", () => {
    const [, block = ""] = /```ts\n([\s\S]*?)```/.exec(guide) ?? []
    const example = read("examples/deployment/observed.ts")
      .replace(/^\/\*\*[\s\S]*?\*\/\n/, "")
      .replaceAll('"../../heddle.ts"', '"heddle"')
      .replaceAll('"../00-order.ts"', '"./order.ts"')
    expect(block.trim()).toBe(example.trim())
  })
})
