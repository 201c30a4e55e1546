/**
 * JSON Schemas as TypeScript: what crosses, written out as types. Pure.
 *
 * - W1 What is not known here fails the generation: a type is never guessed.
 * - W2 Enumerations are open: a text that a newer deployment adds is of the type, too.
 * - W3 A reply may have more than its type; a payload may leave out what is undefined.
 */
import { fieldsOf, type Field, type Json, referenceOf } from "./contract.ts"

/** How a schema is printed. */
export interface Printing {
  /** What a reference is called. */
  readonly nameOf: (definition: string) => string
  /** Whether optional fields may be there and undefined: of payloads, where the SDK drops them. */
  readonly isPayload: boolean
}

/** Lines below one that stands deeper. */
export const indent = (text: string): string => text.replaceAll("\n", "\n  ")

const columns = 96

/** Words in lines of bounded length. */
const wrapped = (text: string, width: number): ReadonlyArray<string> => {
  const lines: Array<string> = []
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1)
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines
}

/** A doc comment with its line end; nothing for no text. Paragraphs are apart by a line. */
export const docComment = (...paragraphs: ReadonlyArray<string | undefined>): string => {
  const said = paragraphs
    .filter((text): text is string => text !== undefined && text !== "")
    .map((text) => text.replaceAll("*/", "* /"))
  const [only] = said
  if (only === undefined) return ""
  if (said.length === 1 && only.length <= columns) return `/** ${only} */\n`
  const lines = said.flatMap((text, index) => [
    ...(index === 0 ? [] : [""]),
    ...wrapped(text, columns),
  ])
  return `/**\n${lines.map((line) => ` * ${line}`.trimEnd()).join("\n")}\n */\n`
}

const annotations = new Set(["description", "title", "default", "examples", "format"])
const bounds = ["pattern", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems"].concat([
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
])

const isOnly = (schema: Json, keys: ReadonlyArray<string>): boolean =>
  Object.keys(schema).every((key) => keys.includes(key) || annotations.has(key))

const isSaid = (schema: Json): boolean => !isOnly(schema, bounds)

const list = (value: unknown): ReadonlyArray<Json> | undefined =>
  Array.isArray(value) ? (value as ReadonlyArray<Json>) : undefined

/** What a schema says of itself, behind a reference or not. */
export const descriptionOf = (schema: Json): string | undefined => {
  const said = [schema, ...(list(schema["allOf"]) ?? [])]
    .map((part) => part["description"])
    .filter((text): text is string => typeof text === "string")
  return said.at(-1)
}

/** A union; over lines when it is long. */
const alternatives = (parts: ReadonlyArray<string>): string => {
  const text = parts.join(" | ")
  return parts.length === 1 || (text.length <= columns && !text.includes("\n"))
    ? text
    : parts.map((part) => `\n  | ${indent(part)}`).join("")
}

/** A type behind a colon or an equals sign. */
export const behind = (mark: string, type: string): string =>
  type.startsWith("\n") ? `${mark}${type}` : `${mark} ${type}`

/** Any text: what is left of an enumeration for those to come. */
const isAnyText = (schema: Json): boolean => schema["type"] === "string" && isOnly(schema, ["type"])

/** Any tag: what is left of a union for those to come. */
export const isAnyCase = (schema: Json): boolean => {
  const fields = fieldsOf(schema)
  const [tag] = fields
  return fields.length === 1 && tag?.name === "_tag" && isAnyText(tag.schema)
}

/** The members of a union, those of unions inside it included. */
const membersOf = (schema: Json, printing: Printing): ReadonlyArray<string> => {
  if (isAnyText(schema)) return ["(string & {})"] // W2
  if (isAnyCase(schema)) return ["Unrecognized"] // W2
  const members = list(schema["anyOf"]) ?? list(schema["oneOf"])
  if (members !== undefined) return members.flatMap((member) => membersOf(member, printing))
  const literals = list(schema["enum"])
  return literals === undefined
    ? [printType(schema, printing)]
    : literals.map((literal) => JSON.stringify(literal))
}

const quoted = (name: string): string =>
  /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)

/** One field of an interface or an object type, with its doc comment. */
export const printField = ({ name, required, schema }: Field, printing: Printing): string => {
  const type = printType(schema, printing)
  const mark = behind(required ? ":" : "?:", type)
  const undefinable = !required && printing.isPayload ? " | undefined" : "" // W3
  return `${docComment(descriptionOf(schema))}readonly ${quoted(name)}${mark}${undefinable}`
}

/** The fields between braces. */
export const printFields = (fields: ReadonlyArray<Field>, printing: Printing): string =>
  fields.length === 0
    ? "{}"
    : `{${fields.map((field) => `\n  ${indent(printField(field, printing))}`).join("")}\n}`

const unknownSchema = (schema: Json): never => {
  throw new Error(`No type is known for the schema ${JSON.stringify(schema)}`) // W1
}

const printArray = (schema: Json, printing: Printing): string => {
  const items = schema["items"]
  if (typeof items !== "object" || items === null || schema["prefixItems"] !== undefined) {
    return unknownSchema(schema)
  }
  return `ReadonlyArray<${printType(items as Json, printing)}>`
}

/** The fields of a case of a union: what is said of the case stands at its tag. */
const withCaseWords = (schema: Json): ReadonlyArray<Field> => {
  const description = descriptionOf(schema)
  return fieldsOf(schema).map((field) =>
    field.name === "_tag" && description !== undefined
      ? { ...field, schema: { ...field.schema, description } }
      : field,
  )
}

const printNamed = (schema: Json, printing: Printing): string => {
  switch (schema["type"]) {
    case "string":
    case "boolean":
    case "null":
      return isOnly(schema, ["type", ...bounds]) ? schema["type"] : unknownSchema(schema)
    case "number":
    case "integer":
      return isOnly(schema, ["type", ...bounds]) ? "number" : unknownSchema(schema)
    case "array":
      return printArray(schema, printing)
    case "object":
      return isOnly(schema, ["type", "properties", "required", "additionalProperties"])
        ? printFields(withCaseWords(schema), printing)
        : unknownSchema(schema)
    default:
      return unknownSchema(schema)
  }
}

/** The type of what a schema describes. Throws when it does not know. */
export const printType = (schema: Json, printing: Printing): string => {
  const reference = referenceOf(schema)
  if (reference !== undefined) return printing.nameOf(reference)
  const { allOf, ...own } = schema
  const parts = [own, ...(list(allOf) ?? [])].filter(isSaid)
  if (parts.length > 1) return unknownSchema(schema)
  const [said] = parts
  if (said === undefined) return "Json"
  if (said !== own) return printType(said, printing)
  const isUnion = [said["anyOf"], said["oneOf"], said["enum"]].some(Array.isArray)
  if (isUnion) return alternatives([...new Set(membersOf(said, printing))])
  return printNamed(said, printing)
}
