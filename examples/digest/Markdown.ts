/**
 * Markdown to a syntax tree, with GitHub's tables and links and with front matter set apart.
 *
 * Invariants
 * - M1 A document whose parse would take time out of proportion to its size is refused before the
 *   parser sees it: delimiter runs cost the square of their block, nesting the square of its depth.
 * - M2 Whatever the parser throws is an answer about this document, never a defect of the run.
 * - M3 Walks are loops over a stack of their own: a deep tree cannot exhaust the call stack.
 */
import { Effect, Schema } from "effect"
import type { Nodes, Root } from "mdast"
import { fromMarkdown } from "mdast-util-from-markdown"
import { frontmatterFromMarkdown } from "mdast-util-frontmatter"
import { gfmFromMarkdown } from "mdast-util-gfm"
import { frontmatter } from "micromark-extension-frontmatter"
import { gfm } from "micromark-extension-gfm"

/** The text cannot be read as Markdown within reason. Remedy: split the block that `reason` names. */
export class UnreadableMarkdown extends Schema.TaggedError<UnreadableMarkdown>()(
  "UnreadableMarkdown",
  { name: Schema.String, reason: Schema.String },
) {
  override get message(): string {
    return this.reason
  }
}

/** Characters between two blank lines; a README's largest table is a few thousand. */
const blockCharactersMax = 32_768

/** Quotes and lists inside one another, counted at the start of a line. */
const nestingMax = 100
const marker = "[ \\t]*(?:>|(?:[*+-]|\\d{1,9}[.)])(?=[ \\t]))"
const nestedTooDeep = new RegExp(`^(?:${marker}){${nestingMax + 1}}`, "m")

/** Why the parser should not be given this text, if it should not. */
export const refusal = (text: string): string | undefined => {
  const longest = text
    .split(/\n[ \t]*\r?\n/)
    .reduce((most, block) => Math.max(most, block.length), 0)
  if (longest > blockCharactersMax) {
    return `a block of ${longest} characters; at most ${blockCharactersMax}`
  }
  // A rule (`* * * *`) looks like nested lists; it costs nothing, and nobody draws one that long.
  if (nestedTooDeep.test(text)) return `quotes or lists nested deeper than ${nestingMax}`
  return undefined
}

const parserOptions = {
  extensions: [gfm(), frontmatter(["yaml", "toml"])],
  mdastExtensions: [gfmFromMarkdown(), frontmatterFromMarkdown(["yaml", "toml"])],
}

/** Parses a document. `name` only tells which one an error is about. */
export const parse = (document: {
  readonly name: string
  readonly text: string
}): Effect.Effect<Root, UnreadableMarkdown> => {
  const reason = refusal(document.text)
  if (reason !== undefined) {
    return Effect.fail(new UnreadableMarkdown({ name: document.name, reason })) // M1
  }
  return Effect.try({
    try: () => fromMarkdown(document.text, parserOptions),
    catch: () => new UnreadableMarkdown({ name: document.name, reason: "the parser gave up" }), // M2
  })
}

/**
 * Every node under `root`, itself included, in document order. Children of a node for which
 * `enter` answers false are left out.
 */
export const nodes = (
  root: Nodes,
  enter: (node: Nodes) => boolean = () => true,
): ReadonlyArray<Nodes> => {
  const found: Array<Nodes> = []
  const pending: Array<Nodes> = [root]
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    // M3
    found.push(node)
    if ("children" in node && enter(node)) pending.push(...node.children.toReversed())
  }
  return found
}

/** What a reader sees of a node: its text, its code spans and the names of its images. */
export const plainText = (root: Nodes): string =>
  nodes(root)
    .map((node) => {
      if (node.type === "text" || node.type === "inlineCode") return node.value
      if (node.type === "image" || node.type === "imageReference") return node.alt ?? ""
      return node.type === "break" ? " " : ""
    })
    .join("")
    .replace(/\s+/g, " ")
    .trim()
