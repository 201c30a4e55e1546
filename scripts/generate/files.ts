/** Everything that is made from the contracts, by its path from the root. */
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { repositoryRoot } from "../workerBuild.ts"
import { readContract } from "./contract.ts"
import { errorsGuide } from "./errorsGuide.ts"
import { openRpcFile } from "./openrpc.ts"
import { errorsFile, operationsFile, typesFile } from "./sdk.ts"

const version = async (): Promise<string> => {
  const text = await readFile(join(repositoryRoot, "package.json"), "utf8")
  return (JSON.parse(text) as { readonly version: string }).version
}

/** The texts, made anew. */
export const generatedFiles = async (): Promise<Readonly<Record<string, string>>> => {
  const contract = readContract()
  return {
    "client/generated/types.ts": typesFile(contract),
    "client/generated/errors.ts": errorsFile(contract),
    "client/generated/operations.ts": operationsFile(contract),
    "docs/errors.md": errorsGuide(contract),
    "openrpc.json": openRpcFile(contract, await version()),
  }
}
