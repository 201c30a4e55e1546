/**
 * The files of `client/generated/`: types, errors and operations of the SDK, as text. Pure.
 */
import {
  type ContractModel,
  type ErrorModel,
  fieldsOf,
  type Json,
  type OperationModel,
} from "./contract.ts"
import { keysOf, openCases, reached, refuseHiddenOpenUnions, withOptionalKeys } from "./shapes.ts"
import {
  behind,
  descriptionOf,
  docComment,
  indent,
  printFields,
  printType,
  type Printing,
} from "./typescript.ts"

const header = (what: string): string =>
  docComment(
    what,
    "Written by `npm run generate` from contracts/. Do not edit: say it in the contract, and generate again.",
  )

const pascal = (name: string): string => `${name.charAt(0).toUpperCase()}${name.slice(1)}`

const payloadName = (operation: string): string => `${pascal(operation)}Payload`

const objectsOnly = (schema: Json): boolean => schema["type"] === "object"

const errorTags = ({ errors }: ContractModel): ReadonlySet<string> =>
  new Set(errors.map(({ tag }) => tag))

/** In types an error is what crosses; its class has its bare name. */
const dataName = (contract: ContractModel) => {
  const tags = errorTags(contract)
  return (name: string): string => (tags.has(name) ? `${name}Data` : name)
}

const printDefinition = (name: string, schema: Json, printing: Printing): string => {
  const doc = docComment(descriptionOf(schema))
  return objectsOnly(schema)
    ? `${doc}export interface ${name} ${printFields(fieldsOf(schema), printing)}\n`
    : `${doc}export type ${name} ${behind("=", printType(schema, printing))}\n`
}

/** `types.ts`: what crosses. */
export const typesFile = (contract: ContractModel): string => {
  const { definitions, operations } = contract
  refuseHiddenOpenUnions(contract)
  const nameOf = dataName(contract)
  const replies = reached(
    [...operations.map(({ result }) => result), ...contract.errors.map(({ data }) => data)],
    definitions,
  )
  const tags = errorTags(contract)
  const named = Object.entries(definitions)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, schema]) => {
      const isPayload = !replies.has(name) && !tags.has(name)
      const given = isPayload ? withOptionalKeys(schema) : schema
      return printDefinition(nameOf(name), given, { nameOf, isPayload })
    })
  const payloads = operations.map(({ name, payload }) =>
    printDefinition(
      payloadName(name),
      { ...withOptionalKeys(payload), description: `What \`${name}\` is given.` },
      { nameOf, isPayload: true },
    ),
  )
  const body = [...named, ...payloads]
  const uses = body.some((text) => /\bUnrecognized\b/.test(text))
  return [
    header("The types of what crosses: identifiers, replies, frames and payloads."),
    uses ? `import type { Unrecognized } from "../sdk/Operations.ts"\n\n` : "\n",
    "/** Any JSON value. */\n",
    "export type Json =\n  | null\n  | boolean\n  | number\n  | string\n  | ReadonlyArray<Json>\n",
    "  | { readonly [key: string]: Json }\n\n",
    body.join("\n"),
  ].join("")
}

const errorClass = ({ tag, meaning, remedy, fields }: ErrorModel, printing: Printing): string => {
  const declared = fields.map(({ name, schema, required }) => {
    const mark = required ? ":" : "?:"
    const doc = docComment(descriptionOf(schema))
    const field = `${doc}declare readonly ${name}${behind(mark, printType(schema, printing))}`
    return `  ${indent(field)}\n`
  })
  const kind = [
    `tag: ${JSON.stringify(tag)}`,
    `meaning: ${JSON.stringify(meaning)}`,
    `remedy: ${JSON.stringify(remedy)}`,
    `fields: ${JSON.stringify(fields.map(({ name }) => name))}`,
  ]
  return [
    docComment(meaning, `Remedy: ${remedy.charAt(0).toLowerCase()}${remedy.slice(1)}`),
    `export class ${tag} extends HeddleError<${JSON.stringify(tag)}> {\n`,
    ...declared,
    `\n  constructor(fields: Omit<Types.${tag}Data, "_tag">) {\n`,
    `    super(\n      {\n${kind.map((line) => `        ${line},\n`).join("")}      },\n      { ...fields },\n    )\n  }\n}\n`,
  ].join("")
}

/** `errors.ts`: a class for each error. */
export const errorsFile = (contract: ContractModel): string => {
  const nameOf = (name: string) => `Types.${dataName(contract)(name)}`
  const printing = { nameOf, isPayload: false }
  const tags = contract.errors.map(({ tag }) => tag)
  return [
    header("The errors of the contract: a class for each, with its fields."),
    `import { HeddleError, UnrecognizedError } from "../sdk/HeddleError.ts"\n`,
    `import type * as Types from "./types.ts"\n\n`,
    contract.errors.map((error) => errorClass(error, printing)).join("\n"),
    "\n/** Every error that the SDK rejects with. */\n",
    `export type AnyHeddleError =\n${[...tags, "UnrecognizedError"].map((tag) => `  | ${tag}\n`).join("")}\n`,
    "/** Whether an error is one of the SDK's; its `tag` tells which, with its fields. */\n",
    "export const isHeddleError = (error: unknown): error is AnyHeddleError =>\n  error instanceof HeddleError\n\n",
    "/** The errors as they cross. */\n",
    `export type AnyErrorData =\n${tags.map((tag) => `  | Types.${tag}Data\n`).join("")}\n`,
    "/** The error of what a deployment has sent, also inside a reply. Total. */\n",
    "export const errorOf = (sent: unknown): AnyHeddleError => {\n",
    '  const data = (typeof sent === "object" && sent !== null ? sent : {}) as AnyErrorData\n',
    "  switch (data._tag) {\n",
    ...tags.map((tag) => `    case ${JSON.stringify(tag)}:\n      return new ${tag}(data)\n`),
    "    default:\n      return new UnrecognizedError(data)\n  }\n}\n",
  ].join("")
}

const kindOf = ({ isStream, payload }: OperationModel): string => {
  if (!isStream) return "unary"
  return fieldsOf(payload).some(({ name }) => name === "after") ? "records" : "stream"
}

const streamDoc = {
  unary: undefined,
  stream: "A stream. One that is lost fails; open it again.",
  records:
    "A stream that goes on from the last record after a lost connection and when the wait ended: it never ends by " +
    "itself. Other frames may be seen again.",
}

const operationMember = (operation: OperationModel, printing: Printing): string => {
  const kind = kindOf(operation) as keyof typeof streamDoc
  const result = printType(operation.result, printing)
  const answer = operation.isStream ? `HeddleStream<${result}>` : `Promise<${result}>`
  const doc = docComment(
    operation.description,
    streamDoc[kind],
    `Rejects with ${operation.errors.map((tag) => `\`${tag}\``).join(", ")}.`,
  )
  const text = `${doc}readonly ${operation.name}: (\n  payload: Types.${payloadName(operation.name)},\n  options?: CallOptions,\n) => ${answer}`
  return `  ${indent(text)}\n`
}

/** `operations.ts`: the operations, and what the runtime must know of each. */
export const operationsFile = (contract: ContractModel): string => {
  const nameOf = (name: string) => `Types.${dataName(contract)(name)}`
  const printing = { nameOf, isPayload: false }
  const { operations, definitions } = contract
  const shapes = operations.map((operation) => {
    const keys = JSON.stringify(keysOf(operation.payload, definitions))
    const cases = openCases(operation.result, definitions)
    const open = cases === undefined ? "" : `, cases: ${JSON.stringify(cases)}`
    return `  ${operation.name}: { kind: ${JSON.stringify(kindOf(operation))}, keys: ${keys}${open} },\n`
  })
  const failures = operations.map(
    ({ name, errors }) =>
      `  readonly ${name}:\n${errors.map((tag) => `    | Errors.${tag}\n`).join("")}`,
  )
  return [
    header("The operations: their types, and what the runtime must know of each."),
    `import type { CallOptions, OperationShape } from "../sdk/Operations.ts"\n`,
    `import type { HeddleStream } from "../sdk/Stream.ts"\n`,
    `import type * as Errors from "./errors.ts"\n`,
    `import type * as Types from "./types.ts"\n\n`,
    "/** Every operation of a deployment. */\n",
    `export interface Operations {\n${operations.map((one) => operationMember(one, printing)).join("\n")}}\n\n`,
    "/** What each operation can reject with, besides what a newer deployment adds. */\n",
    `export interface OperationErrors {\n${failures.join("")}}\n\n`,
    "export const operationShapes = {\n",
    ...shapes,
    "} as const satisfies Readonly<Record<keyof Operations, OperationShape>>\n",
  ].join("")
}
