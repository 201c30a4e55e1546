/**
 * Later revisions of a document, made as people make them: one loses a section, the next gains one.
 * Pure and repeatable: the same document has the same revisions in every run.
 */
import { Effect, Option } from "effect"
import type { RootContent } from "mdast"
import { parse } from "../../examples/digest/Markdown.ts"
import type { DemoDocument } from "./Documents.ts"

interface Block {
  /** 0 for what is no heading. */
  readonly depth: number
  readonly start: number
  readonly end: number
}

const blockOf = (node: RootContent): ReadonlyArray<Block> => {
  const start = node.position?.start.offset
  const end = node.position?.end.offset
  if (start === undefined || end === undefined) return []
  return [{ depth: node.type === "heading" ? node.depth : 0, start, end }]
}

/** What to cut: the middle one of the sections below the title, else the last block of several. */
const cutOf = (blocks: ReadonlyArray<Block>, length: number): Option.Option<Block> => {
  const sections = blocks.filter((block) => block.depth > 1)
  const section = sections[Math.floor(sections.length / 2)]
  if (section !== undefined) {
    const next = blocks.find(
      (block) => block.start > section.start && block.depth > 0 && block.depth <= section.depth,
    )
    const end = next?.start ?? length
    // Cutting must leave something to digest.
    if (section.start > 0 || end < length) return Option.some({ ...section, end })
  }
  const last = blocks.at(-1)
  return last === undefined || blocks.length < 2 ? Option.none() : Option.some(last)
}

const withoutOneSection = (document: DemoDocument): Option.Option<string> =>
  Effect.runSync(Effect.option(parse(document))).pipe(
    Option.flatMap((tree) => cutOf(tree.children.flatMap(blockOf), document.text.length)),
    Option.map((cut) => document.text.slice(0, cut.start) + document.text.slice(cut.end)),
    Option.filter((text) => text.trim() !== ""),
  )

const withOneMoreSection = (text: string): string =>
  [
    text.trimEnd(),
    "",
    "## Notes on this revision",
    "",
    "One section was dropped and this one was added, as in the",
    "[change log](./CHANGELOG.md) of any living document.",
    "",
  ].join("\n")

/** The texts of a document, oldest first: itself, one with less, one with more. */
export const revisionsOf = (document: DemoDocument): ReadonlyArray<string> => {
  const shorter = Option.getOrElse(withoutOneSection(document), () => document.text)
  const longer = withOneMoreSection(shorter)
  // A text of one block has nothing to lose: it grows twice.
  return [
    document.text,
    shorter === document.text ? `${document.text.trimEnd()}\n\nOnce more.\n` : shorter,
    longer,
  ]
}
