/**
 * JSON as people type it: what is wrong is told with its line and column.
 *
 * - J1 The same texts are JSON here and for `JSON.parse`, which does the reading.
 * - J2 What `JSON.parse` reads and nobody could write again as it was is told: a number beyond every double, and
 *   nesting beyond every deployment's.
 */

export interface JsonProblem {
  readonly line: number
  readonly column: number
  readonly reason: string
}

export type JsonResult =
  | { readonly _tag: "Json"; readonly value: unknown }
  | { readonly _tag: "NotJson"; readonly problem: JsonProblem }

const whitespace = /[ \t\n\r]*/y
const literal = /true|false|null/y
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const string =
  // oxlint-disable-next-line no-control-regex
  /"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*"/y

/** A walk over a text that stops at the first character that no JSON could have there. */
class Walk {
  at = 0
  reason = ""
  private readonly text: string
  constructor(text: string) {
    this.text = text
  }

  private takes(pattern: RegExp): boolean {
    pattern.lastIndex = this.at
    const found = pattern.exec(this.text)
    if (found === null) return false
    this.at += found[0].length
    return true
  }

  private takesText(text: string): boolean {
    this.takes(whitespace)
    if (!this.text.startsWith(text, this.at)) return false
    this.at += text.length
    return true
  }

  private expected(what: string): false {
    this.takes(whitespace)
    if (this.text[this.at] === '"' && what === "a value") {
      this.reason = "a text that does not end, or holds a control character or an unknown escape"
      return false
    }
    const found = this.at >= this.text.length ? "the end" : JSON.stringify(this.text[this.at])
    this.reason = `expected ${what}, found ${found}`
    return false
  }

  /** Brackets that are open, innermost last: no recursion, so that depth is no danger. */
  run(): boolean {
    const open: Array<"[" | "{"> = []
    let wants: "value" | "member" | "next" = "value"
    for (;;) {
      if (wants === "member") {
        this.takes(whitespace)
        if (!this.takes(string)) return this.expected(`a name in double quotes`)
        if (!this.takesText(":")) return this.expected(`":"`)
        wants = "value"
      }
      if (wants === "value") {
        if (this.takesText("[")) {
          if (this.takesText("]")) wants = "next"
          else open.push("[")
          if (wants === "value") continue
        } else if (this.takesText("{")) {
          if (this.takesText("}")) wants = "next"
          else {
            open.push("{")
            wants = "member"
            continue
          }
        } else if (!this.takes(literal) && !this.takes(number) && !this.takes(string)) {
          return this.expected("a value")
        }
      }
      const innermost = open.at(-1)
      if (innermost === undefined) break
      const end = innermost === "[" ? "]" : "}"
      if (this.takesText(",")) wants = innermost === "[" ? "value" : "member"
      else if (this.takesText(end)) {
        open.pop()
        wants = "next"
      } else return this.expected(`"," or "${end}"`)
    }
    this.takes(whitespace)
    return this.at >= this.text.length || this.expected("nothing more")
  }
}

const problemOf = (text: string): JsonProblem => {
  const walk = new Walk(text)
  walk.run()
  const before = text.slice(0, walk.at).split("\n")
  return {
    line: before.length,
    column: (before.at(-1) ?? "").length + 1,
    reason: walk.reason === "" ? "it is not JSON" : walk.reason,
  }
}

/** Reads JSON, or says where it ceases to be. */
export const parseJson = (text: string): JsonResult => {
  try {
    return { _tag: "Json", value: JSON.parse(text) as unknown } // J1
  } catch {
    return { _tag: "NotJson", problem: problemOf(text) }
  }
}

/** Deeper than any deployment takes, and shallow enough for every stack. */
const nestingMax = 1_000

/** Why a value that was read cannot be sent as it was written; none when it can. */
export const unsendable = (value: unknown): string | undefined => {
  let level: ReadonlyArray<unknown> = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > nestingMax) return `nested deeper than ${nestingMax}` // J2
    if (level.includes(Number.POSITIVE_INFINITY) || level.includes(Number.NEGATIVE_INFINITY)) {
      return "a number in it is too large" // J2
    }
    level = level.flatMap((one): ReadonlyArray<unknown> =>
      typeof one === "object" && one !== null ? Object.values(one) : [],
    )
  }
  return undefined
}
