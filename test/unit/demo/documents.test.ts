import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Result } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { ThreadId } from "../../../contracts/index.ts"
import {
  chooseDefault,
  defaultDocumentsMin,
  documentOf,
  markdownFilesOf,
  readDocuments,
} from "../../../scripts/demo/Documents.ts"
import { planOf, threadIdOf } from "../../../scripts/demo/Plan.ts"
import { revisionsOf } from "../../../scripts/demo/Revisions.ts"

const bytes = (text: string) => new TextEncoder().encode(text)

describe("reading documents", () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "heddle-test-"))
    await mkdir(join(folder, "folder"))
    await writeFile(join(folder, "good.md"), "# Good\n\nText.\n")
    await writeFile(join(folder, "empty.md"), "")
    await writeFile(join(folder, "binary"), Uint8Array.of(0x7f, 0x45, 0x4c, 0x46, 0xff, 0xfe))
    await writeFile(join(folder, "large.md"), "x".repeat(300_000))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it("names each file that cannot be used with its reason, and takes the others", async () => {
    const names = ["good.md", "empty.md", "binary", "large.md", "folder", "absent.md"]
    const read = await readDocuments(names, folder)
    expect(read.documents).toEqual([{ name: "good.md", text: "# Good\n\nText.\n" }])
    expect(read.leftOut.map(({ name, reason }) => `${name} ${reason}`)).toEqual([
      "empty.md is empty",
      "binary is not UTF-8 text",
      "large.md is above the limit: 262144 bytes, measured on its JSON",
      "folder is not a file",
      "absent.md does not exist",
    ])
  })

  it("takes a file that is named twice once, and says so", async () => {
    const read = await readDocuments(["good.md", "./folder/../good.md"], folder)
    expect(read.documents).toHaveLength(1)
    expect(read.leftOut).toEqual([{ name: "good.md", reason: "is named again: it is taken once" }])
  })

  it("leaves out NUL and blank text, and drops a byte order mark", () => {
    const reasonOf = (content: Uint8Array) =>
      Result.match(documentOf("a", content), {
        onSuccess: ({ text }) => `took ${text}`,
        onFailure: ({ reason }) => reason,
      })
    expect(reasonOf(bytes("a\0b"))).toBe("is not text: it contains NUL")
    expect(reasonOf(bytes(" \n\t"))).toBe("is empty: nothing but white space")
    expect(reasonOf(bytes("\uFEFFtext"))).toBe("took text")
    // Escapes count: admission measures the encoded input.
    expect(reasonOf(bytes('"'.repeat(200_000)))).toMatch(/above the limit/)
  })

  it("takes READMEs by default where there are enough, and says what it takes", () => {
    const readmes = Array.from({ length: defaultDocumentsMin }, (_, n) => `p${n}/README.md`)
    const others = ["p/CHANGELOG.md", "p/docs/a.md"]
    expect(chooseDefault([...others, ...readmes]).paths.toSorted()).toEqual(readmes.toSorted())
    const few = chooseDefault([...others, ...readmes.slice(1)])
    expect(few.paths).toHaveLength(defaultDocumentsMin + 1)
    expect(few.says).toBe("101 README and other Markdown files of the packages in node_modules")
    expect(
      chooseDefault(Array.from({ length: 999 }, (_, n) => `${n}/readme.md`)).paths,
    ).toHaveLength(120)
  })

  it("finds at least a hundred real documents among the installed packages", async () => {
    const root = join(import.meta.dirname, "../../..")
    const { paths } = chooseDefault(await markdownFilesOf(root))
    const { documents } = await readDocuments(paths, root)
    expect(documents.length).toBeGreaterThanOrEqual(100)
  })
})

describe("planning", () => {
  it("gives two paths two threads, whatever characters they are made of", () => {
    const paths = ["a/b.md", "a-b.md", "a b.md", "ä/b.md", "日本.md", "x".repeat(500), "../a/b.md"]
    const ids = paths.map(threadIdOf)
    expect(new Set(ids).size).toBe(paths.length)
    for (const id of ids) expect(ThreadId.make(id)).toBe(id)
    expect(threadIdOf("a/b.md")).toBe(threadIdOf("a/b.md"))
  })

  it("plans three revisions for every fourth document, each under a key of its own", () => {
    const documents = Array.from({ length: 5 }, (_, n) => ({
      name: `${n}.md`,
      text: `# ${n}\n\nText.`,
    }))
    const plan = planOf(documents)
    expect(plan.map(({ submissions }) => submissions.length)).toEqual([3, 1, 1, 1, 3])
    const submissions = plan.flatMap((thread) => thread.submissions)
    expect(new Set(submissions.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(9)
    expect(plan[0]?.submissions.map(({ revision }) => revision)).toEqual([1, 2, 3])
    expect(new Set(plan[0]?.submissions.map(({ input }) => input.text)).size).toBe(3)
  })

  it("ends the revisions of a document that an edit would push over the limit", () => {
    const text = "x".repeat(262_100)
    expect(planOf([{ name: "l", text }])[0]?.submissions.length).toBe(2)
  })
})

describe("revisions", () => {
  const text = [
    "# Title",
    "Intro.",
    "## One",
    "First.",
    "### Below one",
    "Deep.",
    "## Two",
    "```md\n## Not a heading\n```",
    "## Three",
    "Third.",
  ].join("\n\n")

  it("drop one whole section, then add one", () => {
    const [first, second, third] = revisionsOf({ name: "a", text })
    expect(first).toBe(text)
    expect(second).toBe(text.replace("## Two\n\n```md\n## Not a heading\n```\n\n", ""))
    expect(third?.startsWith(`${second}\n\n## Notes on this revision\n`)).toBe(true)
  })

  it("drop the subsections of a section with it", () => {
    const nested = ["# T", "## A", "## B", "### Below", "Deep.", "## C", "Last."].join("\n\n")
    // Of A, B, Below and C the third is in the middle; below a lower heading it ends at the next.
    expect(revisionsOf({ name: "a", text: nested })[1]).toBe("# T\n\n## A\n\n## B\n\n## C\n\nLast.")
    const even = nested.replace("## A\n\n", "")
    expect(revisionsOf({ name: "a", text: even })[1]).toBe(
      even.replace("### Below\n\nDeep.\n\n", ""),
    )
    const wide = nested.replace("# T\n\n## A", "# T").replace("## C", "## C\n\n### Under C\n\n## D")
    expect(revisionsOf({ name: "a", text: wide })[1]).toBe(
      wide.replace("## C\n\n### Under C\n\n", ""),
    )
  })

  it("differ from one another for texts without sections, and are never blank", () => {
    for (const small of ["word", "# Title", "## Only", "one\n\ntwo", "> ".repeat(200) + "deep"]) {
      const texts = revisionsOf({ name: "a", text: small })
      expect(new Set(texts).size).toBe(3)
      expect(texts.every((one) => one.trim() !== "")).toBe(true)
    }
  })
})
