/**
 * The secret that signs tokens for local use: from the environment, else from `.dev.vars` (where
 * wrangler looks too), else made there now. The file is git-ignored and readable by its owner alone.
 */
import { randomBytes } from "node:crypto"
import { open, readFile } from "node:fs/promises"
import { join } from "node:path"
import { parseEnv } from "node:util"
import { repositoryRoot } from "./workerBuild.ts"

const name = "HEDDLE_JWT_SECRET"

const readVars = async (file: string): Promise<string> => {
  try {
    return await readFile(file, "utf8")
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return ""
    throw error
  }
}

/** The secret, made on first use. */
export const localSecret = async (folder = repositoryRoot): Promise<string> => {
  const given = process.env[name]
  if (given !== undefined && given !== "") return given
  const file = join(folder, ".dev.vars")
  const text = await readVars(file)
  const found = parseEnv(text)[name]
  if (found !== undefined && found !== "") return found
  const secret = randomBytes(32).toString("base64url")
  const handle = await open(file, "a", 0o600)
  try {
    await handle.chmod(0o600)
    await handle.write(`${text === "" || text.endsWith("\n") ? "" : "\n"}${name}=${secret}\n`)
  } finally {
    await handle.close()
  }
  return secret
}
