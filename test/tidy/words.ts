/**
 * Rules about comments, texts and documents.
 *
 * - T1 An invariant's label in code is declared in the file's header, and a declared one is upheld
 *   by a line that carries it.
 * - T2 Every file of code opens with what it owns.
 * - T3 Files stay small enough to be read at once, but for those that are generated.
 * - T4 No unfinished business, and no test that is left out or runs alone.
 * - T5 What the README tells to read is there.
 * - T6 Decisions are numbered, each number once.
 * - T7 No path of somebody's machine.
 */
import { folderOf, isProduct, type Repository, type Violation } from "./Repository.ts"
import type { SourceFile } from "./SourceFile.ts"

const linesMax = 400

const isCode = (path: string): boolean =>
  isProduct(path) || ["cli", "console", "examples", "scripts", "bench"].includes(folderOf(path))

const declaredLabels = (file: SourceFile): ReadonlyArray<string> =>
  [...(file.header ?? "").matchAll(/^\s*\* - ([A-Z]\d+)\b/gm)].map((match) => match[1] ?? "")

/**
 * Labels alone in a line comment (which the formatter may have moved from the end of its line to the
 * next), or behind `//` at the end of a block comment's line, where the whole declaration upholds it.
 */
const labelList = /^(?:\s*|.*\/\/ )([A-Z]\d+(?:(?:,| and)? [A-Z]\d+)*)\s*$/gm

const upheldLabels = (file: SourceFile) =>
  file.comments
    .filter((comment) => comment.text !== file.header)
    .flatMap(({ text, line }) =>
      [...text.matchAll(labelList)]
        .flatMap((match) => (match[1] ?? "").match(/[A-Z]\d+/g) ?? [])
        .map((label) => ({ label, line })),
    )

/** T1 */
export const invariantLabelsResolve = ({ sources }: Repository): ReadonlyArray<Violation> =>
  sources.flatMap((file) => {
    const declared = declaredLabels(file)
    const upheld = upheldLabels(file)
    return [
      ...upheld
        .filter(({ label }) => !declared.includes(label)) // T1
        .map(({ label, line }) => `${file.path}:${line}: ${label} is not in the file's header`),
      ...declared
        .filter((label) => !upheld.some((one) => one.label === label)) // T1
        .map((label) => `${file.path}: no line upholds ${label}`),
      ...declared
        .filter((label, index) => declared.indexOf(label) !== index)
        .map((label) => `${file.path}: ${label} is declared twice`),
    ]
  })

/** T2 */
export const codeOpensWithWhatItOwns = ({ sources }: Repository): ReadonlyArray<Violation> =>
  sources
    .filter((file) => isCode(file.path) && file.header === undefined) // T2
    .map((file) => `${file.path}: opens without a comment that says what it owns`)

/** T3 */
export const filesStaySmall = ({ sources }: Repository): ReadonlyArray<Violation> =>
  sources
    .filter(({ path }) => !path.endsWith(".test.ts") && !path.startsWith("client/generated/")) // T3
    .filter((file) => file.lines > linesMax) // T3
    .map((file) => `${file.path}: ${file.lines} lines, at most ${linesMax}`)

/** T4 */
export const nothingIsLeftUnfinished = ({ texts }: Repository): ReadonlyArray<Violation> =>
  [...texts].flatMap(([path, text]) =>
    text.split("\n").flatMap((line, index) => {
      if (!/\b(TO[D]O|FIX[M]E)\b/.test(line)) return [] // T4
      return [`${path}:${index + 1}: unfinished`]
    }),
  )

/** T4 */
export const everyTestRuns = ({ sources }: Repository): ReadonlyArray<Violation> =>
  sources
    .filter((file) => folderOf(file.path) === "test")
    .flatMap((file) =>
      file.names
        .filter(({ name }) =>
          /^(it|test|describe|suite)\b.*\.(only|skip|skipIf|runIf|todo|fails)$/.test(name),
        ) // T4
        .map(({ name, line }) => `${file.path}:${line}: ${name}`),
    )

/** T5 */
export const readingListExists = ({ texts }: Repository): ReadonlyArray<Violation> => {
  const readme = texts.get("README.md") ?? ""
  const section = /^#+ Follow one submission\n([\s\S]*?)(?=^#|$(?![\s\S]))/m.exec(readme)?.[1] ?? ""
  const files = [...section.matchAll(/[`(]([\w./-]+\.ts)[`)]/g)].map((match) => match[1] ?? "")
  if (files.length === 0) return ["README.md: no files are named under “Follow one submission”"] // T5
  return files
    .filter((path) => !texts.has(path.replace(/^\.\//, "")))
    .map((path) => `README.md: ${path} does not exist`) // T5
}

/** T6 */
export const decisionsAreNumbered = ({ texts }: Repository): ReadonlyArray<Violation> => {
  const notes = [...texts.keys()].filter((path) => path.startsWith("docs/decisions/"))
  const numberOf = (path: string): string | undefined => /\/(\d{3})-[a-z0-9-]+\.md$/.exec(path)?.[1]
  return notes.flatMap((path) => {
    const number = numberOf(path)
    if (number === undefined) return [`${path}: is not named NNN-what.md`]
    const twin = notes.find((other) => other < path && numberOf(other) === number)
    return twin === undefined ? [] : [`${path}: ${twin} has this number already`] // T6
  })
}

/** T7 */
export const noMachinePaths = ({ texts }: Repository): ReadonlyArray<Violation> =>
  [...texts].flatMap(([path, text]) =>
    text.split("\n").flatMap((line, index) => {
      if (!/(^|[\s"'`(=])\/(?:work|root|home|Users)\/\w/.test(line)) return [] // T7
      return [`${path}:${index + 1}: a path of one machine`]
    }),
  )
