import { readFile } from "node:fs/promises"
import { join } from "node:path"
import * as metaSchema from "@open-rpc/meta-schema"
import { Ajv } from "ajv"
import { Schema } from "effect"
import { Rpc } from "effect/rpc"
import { describe, expect, it } from "vitest"
import { Description } from "../../../contracts/Description.ts"
import { StorageUnavailable } from "../../../contracts/Errors.ts"
import { HeddleRpc } from "../../../contracts/HeddleRpc.ts"
import { IdempotencyKey, OwnerId } from "../../../contracts/Identifiers.ts"
import { openUnion } from "../../../contracts/Open.ts"
import { readContract } from "../../../scripts/generate/contract.ts"
import { generatedFiles } from "../../../scripts/generate/files.ts"
import { openRpcFile } from "../../../scripts/generate/openrpc.ts"
import { operationsFile, typesFile } from "../../../scripts/generate/sdk.ts"
import { printType } from "../../../scripts/generate/typescript.ts"
import { repositoryRoot } from "../../../scripts/workerBuild.ts"

describe("what is generated from the contracts", () => {
  it("is what stands in the repository: npm run generate", async () => {
    const files = await generatedFiles()
    for (const path of Object.keys(files)) {
      expect({ [path]: await readFile(join(repositoryRoot, path), "utf8") }).toEqual({
        [path]: files[path],
      })
    }
  })

  it("is the same each time", async () => {
    expect(await generatedFiles()).toEqual(await generatedFiles())
  })
})

interface Method {
  readonly name: string
  readonly params: ReadonlyArray<{ readonly name: string; readonly required: boolean }>
  readonly errors: ReadonlyArray<{ readonly $ref: string }>
  readonly "x-stream"?: boolean
}

interface OpenRpc {
  readonly methods: ReadonlyArray<Method>
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>
    readonly errors: Readonly<Record<string, { readonly code: number; readonly data: object }>>
  }
}

describe("openrpc.json", () => {
  const text = openRpcFile(readContract(), "1.2.3")
  const document = JSON.parse(text) as OpenRpc

  it("is valid by the specification's own schema", () => {
    const ajv = new Ajv({ strict: false, validateFormats: false })
    // What a schema and a reference are, the specification takes from elsewhere: those of draft 7.
    const [schemas, reference] = ["", "/#/definitions/JSONSchemaObject/properties/$ref"].map(
      (path) => JSON.stringify({ $ref: `https://meta.json-schema.tools${path}` }),
    )
    const { openrpcDocument } = metaSchema as unknown as { readonly openrpcDocument: object }
    const { $schema: _, ...specification } = JSON.parse(
      JSON.stringify(openrpcDocument)
        .replaceAll(
          schemas ?? "",
          JSON.stringify({ $ref: "http://json-schema.org/draft-07/schema#" }),
        )
        .replaceAll(reference ?? "", JSON.stringify({ type: "string" })),
    ) as Record<string, unknown>
    const validate = ajv.compile(specification)
    expect([validate(document), validate.errors]).toEqual([true, null])
    expect(validate({ ...document, methods: [{ name: "submit" }] })).toBe(false)
  })

  it("has each operation, with its parameters and errors", () => {
    expect(document.methods.map(({ name }) => name)).toEqual([...HeddleRpc.requests.keys()])
    const submit = document.methods.find(({ name }) => name === "submit")
    expect(submit?.params).toContainEqual(
      expect.objectContaining({ name: "idempotencyKey", required: true }),
    )
    expect(submit?.errors).toContainEqual({ $ref: "#/components/errors/IdempotencyConflict" })
    const streams = document.methods.filter((method) => method["x-stream"] === true)
    expect(streams.map(({ name }) => name)).toEqual(["observe", "watch"])
  })

  it("refers to nothing that is not there, and numbers each error once", () => {
    const references = [...text.matchAll(/"\$ref": "#\/([^"]+)"/g)].map((match) => match[1] ?? "")
    expect(references.length).toBeGreaterThan(100)
    const { schemas, errors } = document.components
    const there = [
      ...Object.keys(schemas).map((name) => `components/schemas/${name}`),
      ...Object.keys(errors).map((name) => `components/errors/${name}`),
    ]
    expect(references.filter((reference) => !there.includes(reference))).toEqual([])
    const codes = Object.values(errors).map(({ code }) => code)
    expect(new Set(codes).size).toBe(codes.length)
  })

  it("has schemas that compile, and describe what crosses", () => {
    const ajv = new Ajv({ strict: false, allErrors: true })
    ajv.addSchema({ $id: "openrpc", components: document.components })
    const receipt = ajv.compile({ $ref: "openrpc#/components/schemas/Receipt" })
    const valid = {
      ownerId: "shop",
      threadId: "order-7",
      submissionId: "018f0000-0000-7000-8000-000000000001",
      sequence: 1,
      acceptedAt: 1_000,
      duplicate: false,
    }
    expect(receipt(valid)).toBe(true)
    expect(receipt({ ...valid, ownerId: "a/b" })).toBe(false)
    expect(receipt({ ...valid, sequence: undefined })).toBe(false)
    for (const name of Object.keys(document.components.schemas)) {
      expect(() => ajv.compile({ $ref: `openrpc#/components/schemas/${name}` })).not.toThrow()
    }
  })
})

const told = <Payload extends Schema.Struct.Fields, Success extends Schema.Top>(
  tag: string,
  payload: Payload,
  success: Success,
) =>
  Rpc.make(tag, { payload, success, error: StorageUnavailable }).annotate(Description, "Does it.")

const contractOf = (rpc: Rpc.Any) => readContract({ requests: new Map([["done", rpc]]) })

describe("an operation that is added to the contract", () => {
  const Item = Schema.Struct({ idempotencyKey: IdempotencyKey }).annotate({ identifier: "Item" })

  it("is in the SDK without a change of the generator, with its keys", () => {
    const batch = { ownerId: OwnerId, deep: Schema.Struct({ items: Schema.Array(Item) }) }
    const contract = contractOf(told("done", batch, Schema.Null))
    expect(operationsFile(contract)).toContain(
      `done: { kind: "unary", keys: [["deep","items","[]","idempotencyKey"]] }`,
    )
    expect(typesFile(contract)).toContain("readonly idempotencyKey?: IdempotencyKey | undefined")
  })

  it("has no optional key where it is an answer, too", () => {
    const contract = contractOf(told("done", { item: Item }, Item))
    expect(typesFile(contract)).toContain("readonly idempotencyKey: IdempotencyKey\n")
  })

  it("must say what it does", () => {
    expect(() => contractOf(Rpc.make("done"))).toThrow("The contract lacks what done does")
  })

  it("must say what a caller can do about its errors", () => {
    class Mute extends Schema.TaggedError<Mute>()("Mute", {}, { description: "It failed." }) {}
    const rpc = Rpc.make("done", { error: Mute }).annotate(Description, "Does it.")
    expect(() => contractOf(rpc)).toThrow("The contract lacks the remedy of Mute")
  })

  it("may answer an open union, but not hide one", () => {
    const Open = openUnion([Schema.TaggedStruct("A", {}), Schema.TaggedStruct("B", {})])
    const answer = contractOf(told("done", {}, Open))
    expect(operationsFile(answer)).toContain(`cases: ["A","B"]`)
    expect(operationsFile(answer)).toContain("| Unrecognized")
    const hidden = contractOf(told("done", {}, Schema.Struct({ open: Open })))
    expect(() => typesFile(hidden)).toThrow("An open union is no answer")
  })

  it("is refused when nobody knows its type", () => {
    const printing = { nameOf: (name: string) => name, isPayload: false }
    for (const schema of [
      { type: "array" },
      { not: {} },
      { type: "object", patternProperties: {} },
    ]) {
      expect(() => printType(schema, printing)).toThrow("No type is known")
    }
  })
})

describe("the types of the SDK", () => {
  it("have doc comments that cannot be broken out of", () => {
    const Field = Schema.String.annotate({ description: "*/ evil() /*" })
    const contract = contractOf(told("done", { field: Field }, Schema.Null))
    expect(typesFile(contract)).toContain("/** * / evil() /* */")
  })
})
