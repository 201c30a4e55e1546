/**
 * Text that cannot do anything to a terminal.
 *
 * - P1 What came from outside (titles, outputs, reasons) moves no cursor, sets no colour and turns no
 *   text around: its control characters are shown, not sent.
 * - P2 In JSON they are written as escapes, which mean the same to every reader.
 */

/** C0, DEL and C1 controls, and the marks that turn the direction of text. */
// oxlint-disable-next-line no-control-regex
const harmful = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

const escaped = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

const shown: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }

/** One line of harmless text. */
export const plain = (text: string): string =>
  text.replace(harmful, (character) => shown[character] ?? escaped(character)) // P1

/** Several lines of harmless text. */
export const plainLines = (text: string): string => text.split("\n").map(plain).join("\n")

/** JSON on one line. */
export const jsonLine = (value: unknown): string => {
  const text = JSON.stringify(value) ?? "null"
  return text.replace(harmful, escaped) // P2
}

/** JSON for people and machines alike. Its own line ends are the only controls left in it. */
export const jsonDocument = (value: unknown): string =>
  (JSON.stringify(value, null, 2) ?? "null")
    .split("\n")
    .map((line) => line.replace(harmful, escaped)) // P2
    .join("\n")

/** At most so many characters, the last one a mark that there is more. */
export const shortened = (text: string, charactersMax: number): string =>
  text.length <= charactersMax ? text : `${text.slice(0, Math.max(charactersMax - 1, 0))}…`
