/**
 * Open enumerations: what a newer peer adds must not break an older one.
 *
 * `openLiterals` and `openUnion` decode every value they do not know to `Unrecognized`, never to a
 * failure. An owner treats `Unrecognized` as a call without an answer.
 */
import { Schema, SchemaTransformation } from "effect"

/** Any text, read as the literal `"Unrecognized"`. */
const UnrecognizedText = Schema.String.pipe(
  Schema.decodeTo(
    Schema.Literal("Unrecognized"),
    SchemaTransformation.transform({
      decode: (_text: string): "Unrecognized" => "Unrecognized",
      encode: (text: "Unrecognized"): string => text,
    }),
  ),
)

/** String literals that decode an unknown string to `"Unrecognized"`. */
export const openLiterals = <const L extends ReadonlyArray<string>>(literals: L) =>
  Schema.Union([Schema.Literals(literals), UnrecognizedText])

/** Any tagged object, read as `{ _tag: "Unrecognized" }`. */
const UnrecognizedCase = Schema.Struct({ _tag: UnrecognizedText })

/** A union of tagged structs that decodes an unknown tag to `{ _tag: "Unrecognized" }`. */
export const openUnion = <const M extends ReadonlyArray<Schema.Top>>(members: M) =>
  Schema.Union([...members, UnrecognizedCase] as const)
