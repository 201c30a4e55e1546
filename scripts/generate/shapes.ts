/**
 * What the SDK must know of the contract's schemas besides their types. Pure.
 *
 * - K1 A key of an intent is optional in a payload: the SDK makes it before the first try.
 * - K2 Of an answer whose union is open the known tags are told, so that others can be taken as unknown. An
 *   open union elsewhere fails the generation: nobody would look at it.
 */
import { type ContractModel, fieldsOf, type Json, referenceOf } from "./contract.ts"
import { descriptionOf, isAnyCase } from "./typescript.ts"

type Definitions = ContractModel["definitions"]

const keyField = "idempotencyKey"

/** All schemas inside one. */
const inside = (schema: Json): ReadonlyArray<Json> => {
  const found: Array<Json> = []
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(walk)
    if (typeof value !== "object" || value === null) return
    found.push(value as Json)
    Object.values(value).forEach(walk)
  }
  walk(schema)
  return found
}

/** The names of all definitions that schemas lead to. */
export const reached = (
  roots: ReadonlyArray<Json>,
  definitions: Definitions,
): ReadonlySet<string> => {
  const names = new Set<string>()
  const visit = (schema: Json): void => {
    for (const one of inside(schema)) {
      const name = referenceOf(one)
      if (name === undefined || names.has(name)) continue
      names.add(name)
      const definition = definitions[name]
      if (definition !== undefined) visit(definition)
    }
  }
  roots.forEach(visit)
  return names
}

const behindReference = (schema: Json, definitions: Definitions): Json => {
  const name = referenceOf(schema)
  return name === undefined ? schema : (definitions[name] ?? {})
}

/** Where in a payload keys are: the ways to them. */
export const keysOf = (
  schema: Json,
  definitions: Definitions,
): ReadonlyArray<ReadonlyArray<string>> => {
  const seen = behindReference(schema, definitions)
  if (seen["type"] === "array" && typeof seen["items"] === "object" && seen["items"] !== null) {
    return keysOf(seen["items"] as Json, definitions).map((way) => ["[]", ...way])
  }
  return fieldsOf(seen).flatMap((field) =>
    field.name === keyField
      ? [[keyField]]
      : keysOf(field.schema, definitions).map((way) => [field.name, ...way]),
  )
}

/** The payload with optional keys. */
export const withOptionalKeys = (schema: Json): Json => {
  const key = fieldsOf(schema).find(({ name }) => name === keyField)
  if (key === undefined) return schema
  const text = descriptionOf(key.schema) ?? ""
  const description = `${text} Made here, once for each call, unless it is given.`.trimStart()
  return {
    ...schema,
    properties: {
      ...(schema["properties"] as Record<string, Json>),
      [keyField]: { allOf: [key.schema, { description }] }, // K1
    },
    required: (schema["required"] as ReadonlyArray<string>).filter((name) => name !== keyField),
  }
}

const casesOf = (schema: Json): ReadonlyArray<Json> =>
  Array.isArray(schema["anyOf"]) ? (schema["anyOf"] as ReadonlyArray<Json>) : []

const tagsOf = (schema: Json): ReadonlyArray<string> => {
  const tag = fieldsOf(schema).find(({ name }) => name === "_tag")
  return Array.isArray(tag?.schema["enum"]) ? (tag.schema["enum"] as ReadonlyArray<string>) : []
}

/** The tags of an answer that may get others; undefined when it may not. */
export const openCases = (
  result: Json,
  definitions: Definitions,
): ReadonlyArray<string> | undefined => {
  const cases = casesOf(behindReference(result, definitions))
  return cases.some(isAnyCase) ? cases.flatMap(tagsOf) : undefined // K2
}

/** Throws when an open union stands where the SDK does not look. */
export const refuseHiddenOpenUnions = ({ definitions, operations }: ContractModel): void => {
  const answers = new Set(operations.map(({ result }) => behindReference(result, definitions)))
  const parts = operations.flatMap(({ payload, result }) => [payload, result])
  for (const schema of [...parts, ...Object.values(definitions)].flatMap(inside)) {
    if (answers.has(schema) || !casesOf(schema).some(isAnyCase)) continue
    throw new Error(`An open union is no answer: ${JSON.stringify(schema)}`) // K2
  }
}
