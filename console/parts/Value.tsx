/**
 * A JSON value for people: indented, its texts with their own line breaks. Everything is text to the page, whatever is in
 * it.
 *
 * - V1 A large value shows its beginning, and the rest when it is asked for: a page of a mebibyte is none.
 */
import type { ComponentChildren } from "preact"
import { useState } from "preact/hooks"
import { countOf, straight } from "../lib/Format.ts"

const shownCharacters = 6_000
const itemsMax = 200
const indent = 2

const isLong = (text: string): boolean => text.includes("\n")

const Text = ({ text, depth }: { readonly text: string; readonly depth: number }) =>
  isLong(text) ? (
    <span class="json-block" style={{ marginInlineStart: `${depth * indent}ch` }}>
      {straight(text)}
    </span>
  ) : (
    <span class="json-text">{straight(JSON.stringify(text))}</span>
  )

interface Nested {
  readonly value: unknown
  readonly depth: number
}

const entriesOf = (value: object): ReadonlyArray<readonly [string | undefined, unknown]> =>
  Array.isArray(value)
    ? value.map((item: unknown) => [undefined, item] as const)
    : Object.entries(value)

const Members = ({ depth, value }: { readonly value: object; readonly depth: number }) => {
  const [isWhole, setWhole] = useState(false)
  const entries = entriesOf(value)
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"]
  if (entries.length === 0) return <span class="json-mark">{`${open}${close}`}</span>
  const shown = isWhole ? entries : entries.slice(0, itemsMax)
  const space = " ".repeat((depth + 1) * indent)
  return (
    <>
      <span class="json-mark">{open}</span>
      {shown.map(([key, item], index) => (
        <>
          {`\n${space}`}
          {key === undefined ? undefined : (
            <>
              <span class="json-key">{straight(JSON.stringify(key))}</span>
              <span class="json-mark">: </span>
            </>
          )}
          <Json value={item} depth={depth + 1} />
          {index === entries.length - 1 ? undefined : <span class="json-mark">,</span>}
        </>
      ))}
      {isWhole || entries.length <= itemsMax ? undefined : (
        <button type="button" class="link" onClick={() => setWhole(true)}>
          {`\n${space}… ${countOf(entries.length - itemsMax)} more`}
        </button>
      )}
      {`\n${" ".repeat(depth * indent)}`}
      <span class="json-mark">{close}</span>
    </>
  )
}

const Json = ({ depth, value }: Nested): ComponentChildren => {
  if (typeof value === "string") return <Text text={value} depth={depth} />
  if (typeof value === "object" && value !== null) return <Members value={value} depth={depth} />
  return <span class="json-plain">{String(value)}</span>
}

/** Shown whole up to a size; beyond it as the beginning of its text. // V1 */
export const Value = ({ label, value }: { readonly value: unknown; readonly label: string }) => {
  const [isWhole, setWhole] = useState(false)
  const text = JSON.stringify(value) ?? ""
  if (isWhole || text.length <= shownCharacters) {
    return (
      <figure aria-label={label}>
        <pre class="json">
          <Json value={value} depth={0} />
        </pre>
      </figure>
    )
  }
  return (
    <div>
      <figure aria-label={label}>
        <pre class="json">{straight(`${text.slice(0, shownCharacters).toWellFormed()}…`)}</pre>
      </figure>
      <button type="button" class="link" onClick={() => setWhole(true)}>
        Show all {countOf(text.length)} characters
      </button>
    </div>
  )
}
