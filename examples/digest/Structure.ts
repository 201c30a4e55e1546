/**
 * The skeleton of a document: title, outline, links and the languages of its code.
 *
 * Lists are bounded, because they go into records; the counts beside them are of everything.
 */
import { Schema } from "effect"
import type { Definition, Nodes, Root } from "mdast"
import { clip } from "./Clip.ts"
import { htmlHeadings, htmlLinks } from "./Html.ts"
import { nodes, plainText } from "./Markdown.ts"

const headingsMax = 100
const linksMax = 100
const headingCharactersMax = 160
const urlCharactersMax = 300

/** `depth` is 1 for the title's level, 6 for the lowest. */
export const Heading = Schema.Struct({ depth: Schema.Int, text: Schema.String })
export type Heading = typeof Heading.Type

/** Where a link leads: another site, a file beside the document, a place in it, or a mailbox. */
export const LinkKind = Schema.Literals(["web", "relative", "anchor", "mail"])
export type LinkKind = typeof LinkKind.Type

export const Link = Schema.Struct({ url: Schema.String, text: Schema.String, kind: LinkKind })
export type Link = typeof Link.Type

/** `plain` stands for blocks that name no language. */
export const CodeLanguage = Schema.Struct({
  language: Schema.String,
  blocks: Schema.Int,
  lines: Schema.Int,
})
export type CodeLanguage = typeof CodeLanguage.Type

export const Structure = Schema.Struct({
  title: Schema.String,
  /** The first hundred headings. */
  outline: Schema.Array(Heading),
  headingCount: Schema.Int,
  /** The first hundred distinct targets. */
  links: Schema.Array(Link),
  linkCount: Schema.Int,
  /** The most used first. */
  codeLanguages: Schema.Array(CodeLanguage),
})
export type Structure = typeof Structure.Type

const headings = (tree: Root): ReadonlyArray<Heading> =>
  nodes(tree, (node) => node.type !== "heading")
    .flatMap((node): ReadonlyArray<Heading> => {
      if (node.type === "heading") return [{ depth: node.depth, text: plainText(node) }]
      return node.type === "html" ? htmlHeadings(node.value) : []
    })
    .filter((heading) => heading.text !== "")
    .map((heading) => ({ ...heading, text: clip(heading.text, headingCharactersMax) }))

/** Which kind of place `url` names. */
export const linkKind = (url: string): LinkKind => {
  if (url.startsWith("#")) return "anchor"
  if (/^mailto:/i.test(url)) return "mail"
  return /^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(url) ? "web" : "relative"
}

/** Markdown matches a reference with its definition without regard to case and spacing. */
const referenceKey = (identifier: string): string =>
  identifier.replace(/\s+/g, " ").trim().toLowerCase()

const links = (tree: Root): ReadonlyArray<Link> => {
  const all = nodes(tree)
  const definitions = new Map<string, string>()
  for (const node of all.filter((one): one is Definition => one.type === "definition")) {
    const key = referenceKey(node.identifier)
    // The first definition of a name counts.
    if (!definitions.has(key)) definitions.set(key, node.url)
  }
  const target = (node: Nodes): ReadonlyArray<{ url: string; text: string }> => {
    if (node.type === "link") return [{ url: node.url, text: plainText(node) }]
    if (node.type === "html") return htmlLinks(node.value)
    if (node.type !== "linkReference") return []
    const url = definitions.get(referenceKey(node.identifier))
    return url === undefined ? [] : [{ url, text: plainText(node) }]
  }
  const distinct = new Map<string, Link>()
  for (const { url, text } of all.flatMap(target)) {
    if (url === "" || distinct.has(url)) continue
    distinct.set(url, {
      url: clip(url, urlCharactersMax),
      text: clip(text, headingCharactersMax),
      kind: linkKind(url),
    })
  }
  return [...distinct.values()]
}

/** Names that mean the same language. */
const languageAliases: Readonly<Record<string, string>> = {
  js: "javascript",
  mjs: "javascript",
  cjs: "javascript",
  ts: "typescript",
  sh: "shell",
  bash: "shell",
  zsh: "shell",
  console: "shell",
  yml: "yaml",
  md: "markdown",
  py: "python",
  rs: "rust",
}

const codeLanguages = (tree: Root): ReadonlyArray<CodeLanguage> => {
  const byLanguage = new Map<string, CodeLanguage>()
  for (const node of nodes(tree)) {
    if (node.type !== "code") continue
    const named = clip((/^[^\s{,:]+/.exec(node.lang ?? "")?.[0] ?? "plain").toLowerCase(), 32)
    const language = languageAliases[named] ?? named
    const before = byLanguage.get(language) ?? { language, blocks: 0, lines: 0 }
    byLanguage.set(language, {
      language,
      blocks: before.blocks + 1,
      lines: before.lines + node.value.split("\n").length,
    })
  }
  return [...byLanguage.values()]
    .sort((a, b) => b.blocks - a.blocks || b.lines - a.lines || (a.language < b.language ? -1 : 1))
    .slice(0, 32)
}

/** The skeleton of a parsed document. `name` is its title if it has no heading. */
export const structureOf = (name: string, tree: Root): Structure => {
  const outline = headings(tree)
  const targets = links(tree)
  return {
    title: (outline.find((heading) => heading.depth === 1) ?? outline[0])?.text ?? clip(name, 160),
    outline: outline.slice(0, headingsMax),
    headingCount: outline.length,
    links: targets.slice(0, linksMax),
    linkCount: targets.length,
    codeLanguages: codeLanguages(tree),
  }
}
