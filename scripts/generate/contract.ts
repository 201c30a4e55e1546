/**
 * The public contract as data, read from `HeddleRpc`: its operations, their errors, and the JSON Schemas of what
 * crosses. What the generated SDK and the OpenRPC document are written from; no operation is named here.
 *
 * - G1 What callers must be told is in the contract: an operation or an error without words fails.
 * - G2 The same contract gives the same data, in the order of the contract.
 */
import { Context, type JsonSchema, Schema } from "effect"
import { type Rpc, RpcSchema } from "effect/rpc"
import { Description } from "../../contracts/Description.ts"
import { HeddleRpc } from "../../contracts/HeddleRpc.ts"
import { toldOf } from "../../contracts/Remedy.ts"
import { errorSchemaOf } from "../../contracts/transport/RpcCodec.ts"

export type Json = JsonSchema.JsonSchema

/** A named field of an object. */
export interface Field {
  readonly name: string
  readonly required: boolean
  readonly schema: Json
}

export interface OperationModel {
  readonly name: string
  readonly description: string
  readonly isStream: boolean
  readonly payload: Json
  /** Of a stream: one of its values. */
  readonly result: Json
  /** Tags of all that it can fail with, sorted. */
  readonly errors: ReadonlyArray<string>
}

export interface ErrorModel {
  readonly tag: string
  readonly meaning: string
  readonly remedy: string
  /** What crosses, tag included. */
  readonly data: Json
  readonly fields: ReadonlyArray<Field>
}

export interface ContractModel {
  readonly operations: ReadonlyArray<OperationModel>
  /** By tag. */
  readonly errors: ReadonlyArray<ErrorModel>
  /** What schemas refer to as `#/$defs/<name>`; errors are among them. */
  readonly definitions: Readonly<Record<string, Json>>
}

const refPrefix = "#/$defs/"

/** The name that a schema refers to, if it does. */
export const referenceOf = (schema: Json): string | undefined =>
  typeof schema["$ref"] === "string" && schema["$ref"].startsWith(refPrefix)
    ? schema["$ref"].slice(refPrefix.length)
    : undefined

const record = (value: unknown): Readonly<Record<string, Json>> =>
  typeof value === "object" && value !== null ? (value as Record<string, Json>) : {}

/** The fields of an object schema, in their order. */
export const fieldsOf = (schema: Json): ReadonlyArray<Field> => {
  const required = Array.isArray(schema["required"]) ? (schema["required"] as Array<string>) : []
  return Object.entries(record(schema["properties"])).map(([name, field]) => ({
    name,
    required: required.includes(name),
    schema: field,
  }))
}

type ErrorClass = Schema.Top & { readonly identifier: string }

const membersOf = (schema: Schema.Top): ReadonlyArray<Schema.Top> =>
  "members" in schema && Array.isArray(schema.members)
    ? (schema.members as ReadonlyArray<Schema.Top>).flatMap(membersOf)
    : [schema]

const errorClassesOf = (rpc: Rpc.AnyWithProps): ReadonlyArray<ErrorClass> =>
  membersOf(errorSchemaOf(rpc)).filter(
    (member): member is ErrorClass =>
      "identifier" in member && typeof member.identifier === "string",
  )

const successOf = ({ successSchema }: Rpc.AnyWithProps): Schema.Top =>
  RpcSchema.isStreamSchema(successSchema) ? successSchema.success : successSchema

/** How an error class is called where it is encoded. */
const encodedName = (tag: string): string => `${tag}Encoded`

/** The same with other references. */
export const withReferences = <A>(value: A, rewrite: (reference: string) => string): A => {
  const visit = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(visit)
    if (typeof part !== "object" || part === null) return part
    const entries = Object.entries(part).map(([key, item]) => [
      key,
      key === "$ref" && typeof item === "string" ? rewrite(item) : visit(item),
    ])
    return Object.fromEntries(entries) as unknown
  }
  return visit(value) as A
}

/** The same with words beside what they are about, where nothing stands between them. */
const withWordsInPlace = <A>(value: A): A => {
  const visit = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(visit)
    if (typeof part !== "object" || part === null) return part
    const { allOf, ...rest } = part as { readonly allOf?: unknown }
    const [only, ...more] = Array.isArray(allOf) ? (allOf as ReadonlyArray<Json>) : []
    const words = only !== undefined && Object.keys(only).join() === "description"
    const merged = words && more.length === 0 && !("$ref" in rest) ? { ...rest, ...only } : part
    return Object.fromEntries(Object.entries(merged).map(([key, item]) => [key, visit(item)]))
  }
  return visit(value) as A
}

/** All schemas in one, so that each has one name. */
const documentOf = (
  rpcs: ReadonlyArray<Rpc.AnyWithProps>,
  classes: ReadonlyMap<string, ErrorClass>,
) => {
  const parts = rpcs.flatMap((rpc) => [
    [`${rpc._tag} payload`, rpc.payloadSchema] as const,
    [`${rpc._tag} result`, successOf(rpc)] as const,
  ])
  const all = Schema.Struct(Object.fromEntries([...parts, ...classes]))
  const document = Schema.toJsonSchemaDocument(Schema.toCodecJson(all))
  const names = new Map([...classes.keys()].map((tag) => [encodedName(tag), tag]))
  const renamed = (schema: Json): Json =>
    withReferences(withWordsInPlace(schema), (reference) => {
      const name = names.get(reference.slice(refPrefix.length))
      return name === undefined ? reference : `${refPrefix}${name}`
    })
  const definitions = Object.entries(document.definitions).map(([name, schema]) => [
    names.get(name) ?? name,
    renamed(schema),
  ])
  return {
    parts: record(renamed(document.schema)["properties"]),
    definitions: Object.fromEntries(definitions) as Record<string, Json>,
  }
}

const need = <A>(value: A | undefined, what: string): A => {
  if (value === undefined || value === "") throw new Error(`The contract lacks ${what}`)
  return value
}

const errorOf = (tag: string, one: ErrorClass, definitions: Record<string, Json>): ErrorModel => {
  const { meaning, remedy } = need(toldOf(one), `the remedy of ${tag}`) // G1
  const data = need(definitions[tag], `the schema of ${tag}`)
  return {
    tag,
    meaning,
    remedy,
    data,
    fields: fieldsOf(data).filter(({ name }) => name !== "_tag"),
  }
}

const sortedTags = (classes: ReadonlyArray<ErrorClass>): ReadonlyArray<string> =>
  [...new Set(classes.map(({ identifier }) => identifier))].toSorted()

/** Reads a group; the public contract unless another is named. Throws when it lacks words. */
export const readContract = (
  group: { readonly requests: ReadonlyMap<string, Rpc.Any> } = HeddleRpc,
): ContractModel => {
  const rpcs = [...group.requests.values()] as unknown as ReadonlyArray<Rpc.AnyWithProps>
  const all = rpcs.flatMap((rpc) => errorClassesOf(rpc))
  const byTag = new Map(all.map((one) => [one.identifier, one]))
  const classes = new Map([...byTag].toSorted(([a], [b]) => (a < b ? -1 : 1)))
  const { parts, definitions } = documentOf(rpcs, classes)
  const operations = rpcs.map((rpc) => ({
    name: rpc._tag,
    description: need(Context.get(rpc.annotations, Description), `what ${rpc._tag} does`), // G1
    isStream: RpcSchema.isStreamSchema(rpc.successSchema),
    payload: need(parts[`${rpc._tag} payload`], `the payload of ${rpc._tag}`),
    result: need(parts[`${rpc._tag} result`], `the result of ${rpc._tag}`),
    errors: sortedTags(errorClassesOf(rpc)),
  }))
  const errors = [...classes].map(([tag, one]) => errorOf(tag, one, definitions))
  return { operations, errors, definitions } // G2
}
