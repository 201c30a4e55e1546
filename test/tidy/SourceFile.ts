/**
 * A TypeScript file as the tidy rules see it: its imports, the names it uses and its comments, with
 * lines. It is parsed, so that strings, comments and code are never taken for each other.
 */
import { parseSync } from "vite"

export interface Place {
  readonly line: number
}

/** `from` is the specifier as written; `names` are what is imported by name. */
export interface Import extends Place {
  readonly from: string
  readonly names: ReadonlyArray<string>
}

/** A name in code, with what it is reached through: `Date.now`, `this.alarm.set`, `?.runFork`. */
export interface Name extends Place {
  readonly name: string
}

export interface Comment extends Place {
  /** Without its marks. */
  readonly text: string
}

export interface SourceFile {
  readonly path: string
  readonly lines: number
  readonly imports: ReadonlyArray<Import>
  readonly names: ReadonlyArray<Name>
  readonly comments: ReadonlyArray<Comment>
  /** The block comment that the file opens with. */
  readonly header: string | undefined
}

interface Node {
  readonly type: string
  readonly start: number
  readonly [key: string]: unknown
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && typeof (value as Node).type === "string"

const walk = (value: unknown, visit: (node: Node) => void): void => {
  if (Array.isArray(value)) {
    for (const item of value) walk(item, visit)
  } else if (isNode(value)) {
    visit(value)
    for (const [key, child] of Object.entries(value))
      if (key !== "type" && !(key === "property" && value["computed"] === false)) walk(child, visit)
  }
}

const identifierOf = (value: unknown): string =>
  isNode(value) && value.type === "Identifier" ? String(value["name"]) : "?"

/** The dotted name of an expression; `?` stands for what has none. */
const nameOf = (value: unknown): string => {
  if (!isNode(value)) return "?"
  if (value.type === "ThisExpression") return "this"
  if (value.type !== "MemberExpression") return identifierOf(value)
  const property = value["computed"] === true ? "?" : identifierOf(value["property"])
  return `${nameOf(value["object"])}.${property}`
}

/** What a node uses by name, if anything. */
const usedName = (node: Node): string | undefined => {
  if (node.type === "Identifier" || node.type === "MemberExpression") return nameOf(node)
  const bare = Array.isArray(node["arguments"]) && node["arguments"].length === 0
  if (node.type === "NewExpression" && bare) return `new ${nameOf(node["callee"])}()`
  if (node.type === "CallExpression") return `${nameOf(node["callee"])}()`
  return undefined
}

const importTypes = new Set([
  "ImportDeclaration",
  "ExportAllDeclaration",
  "ExportNamedDeclaration",
  "ImportExpression",
  "TSImportType",
])

const importOf = (node: Node, line: number): Import | undefined => {
  if (!importTypes.has(node.type) || !isNode(node["source"])) return undefined
  const from = node["source"]["value"]
  if (typeof from !== "string") return undefined
  const specifiers = Array.isArray(node["specifiers"]) ? node["specifiers"].filter(isNode) : []
  return { from, line, names: specifiers.map((one) => identifierOf(one["imported"])) }
}

/** Reads one file. Throws when it does not parse. */
export const parseSource = (path: string, text: string): SourceFile => {
  const parsed = parseSync(path, text, { sourceType: "module" })
  if (parsed.errors.length > 0) throw new Error(`${path}: ${parsed.errors[0]?.message}`)
  const lineStarts = [0]
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1))
    lineStarts.push(at + 1)
  const lineAt = (offset: number): number =>
    lineStarts.findLastIndex((start) => start <= offset) + 1
  const imports: Array<Import> = []
  const names: Array<Name> = []
  walk(parsed.program, (node) => {
    const line = lineAt(node.start)
    const imported = importOf(node, line)
    if (imported !== undefined) imports.push(imported)
    const name = usedName(node)
    if (name !== undefined) names.push({ name, line })
  })
  const comments = parsed.comments.map(({ value, start }) => ({ text: value, line: lineAt(start) }))
  const [first] = parsed.comments
  const opens = first !== undefined && first.type === "Block" && first.start === 0
  const header = opens ? first.value : undefined
  return { path, lines: text.trimEnd().split("\n").length, imports, names, comments, header }
}
