/**
 * The OpenRPC document of the public contract, for callers in other languages. Pure.
 *
 * - R1 The number of an error is a function of its tag: it stays when others come and go.
 */
import { JsonSchema } from "effect"
import {
  type ContractModel,
  type ErrorModel,
  fieldsOf,
  type Json,
  type OperationModel,
  withReferences,
} from "./contract.ts"
import { descriptionOf } from "./typescript.ts"

const wire = `How a call crosses: POST /rpc with \`content-type: application/x-ndjson\` and \`authorization: Bearer <JWT>\`, \
one line for each call: {"_tag":"Request","id":"<unique>","tag":"<method>","payload":{<params by name>},"headers":[]}. \
The answer has one line for each call, {"_tag":"Exit","requestId":"<id>","exit":{"_tag":"Success","value":<result>}} or \
{"_tag":"Exit","requestId":"<id>","exit":{"_tag":"Failure","cause":[{"_tag":"Fail","error":<the data of an error>}]}}, \
and for methods with \`x-stream\` lines {"_tag":"Chunk","requestId":"<id>","values":[<result>, …]} before it; empty lines \
keep a quiet answer alive. Errors are known by the \`_tag\` in their data; their codes are made for this document and \
never cross. Enumerations are open: take what you do not know as unknown. Every method is safe to repeat; repeat what is \
\`Unavailable\` and \`retryable\`, with a pause that grows, and never what is \`overloaded\`.`

/** Codes of an application, away from those that JSON-RPC keeps. */
const codeMin = 1_000
const codes = 30_000

/** FNV-1a over the tag. */
const codeOf = (tag: string): number => {
  let hash = 0x811c9dc5
  for (const byte of new TextEncoder().encode(tag)) hash = Math.imul(hash ^ byte, 0x01000193)
  return codeMin + ((hash >>> 0) % codes) // R1
}

const draft07 = (schema: Json): Json =>
  withReferences(
    JsonSchema.toDocumentDraft07({ dialect: "draft-2020-12", schema, definitions: {} }).schema,
    (reference) => `#/components/schemas/${reference.split("/").at(-1)}`,
  )

const described = (schema: Json): { readonly description?: string } => {
  const description = descriptionOf(schema)
  return description === undefined ? {} : { description }
}

const errorObject = ({ tag, meaning, remedy }: ErrorModel) => ({
  code: codeOf(tag),
  message: `${tag}: ${meaning} Remedy: ${remedy}`,
  data: { $ref: `#/components/schemas/${tag}` },
})

const methodOf = (operation: OperationModel) => ({
  name: operation.name,
  description: operation.description,
  paramStructure: "by-name",
  params: fieldsOf(operation.payload).map(({ name, required, schema }) => ({
    name,
    ...described(schema),
    required,
    schema: draft07(schema),
  })),
  result: {
    name: operation.isStream ? `one value of ${operation.name}` : `the answer of ${operation.name}`,
    ...described(operation.result),
    schema: draft07(operation.result),
  },
  errors: operation.errors.map((tag) => ({ $ref: `#/components/errors/${tag}` })),
  ...(operation.isStream ? { "x-stream": true } : {}),
})

const unique = (errors: ReadonlyArray<ErrorModel>): void => {
  const seen = new Map<number, string>()
  for (const { tag } of errors) {
    const other = seen.get(codeOf(tag))
    if (other !== undefined) throw new Error(`${tag} and ${other} have one code: rename one`)
    seen.set(codeOf(tag), tag)
  }
}

/** The document as text. */
export const openRpcFile = (contract: ContractModel, version: string): string => {
  const { definitions, errors, operations } = contract
  unique(errors)
  const schemas = Object.entries(definitions).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const document = {
    openrpc: "1.3.2",
    info: { title: "Heddle", version, description: wire },
    servers: [
      {
        name: "a deployment",
        url: "https://{host}/rpc",
        variables: { host: { default: "localhost" } },
      },
    ],
    methods: operations.map(methodOf),
    components: {
      schemas: Object.fromEntries(schemas.map(([name, schema]) => [name, draft07(schema)])),
      errors: Object.fromEntries(errors.map((error) => [error.tag, errorObject(error)])),
    },
  }
  return `${JSON.stringify(document, undefined, 2)}\n`
}
