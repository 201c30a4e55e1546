/** What the pages of the console are written in is what a screen reader can tell. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"

const root = join(import.meta.dirname, "../../../console")

const sources = ["pages", "parts"].flatMap((folder) =>
  readdirSync(join(root, folder)).map((name) => ({
    name,
    text: readFileSync(join(root, folder, name), "utf8"),
  })),
)

it("only what has a role of its own has a name for the ear: of the others it is not told", () => {
  const plain = /<(?:p|span|div|pre|code|small|strong|bdi)\b(?:=>|[^>])*?>/g
  const silent = sources.flatMap(({ name, text }) =>
    [...text.matchAll(plain)]
      .map(([tag]) => tag)
      .filter((tag) => tag.includes("aria-label=") && !tag.includes("role="))
      .map((tag) => `${name}: ${tag}`),
  )
  expect(silent).toEqual([])
})
