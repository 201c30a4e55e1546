/**
 * Prints a token for `npm run dev`: `npm run --silent token [-- PRINCIPAL [OWNERS…]]`. The secret is in .dev.vars, and
 * made there on first use. For a deployment, tokens come from your identity provider or your own login.
 */
import { randomBytes } from "node:crypto"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { SignJWT } from "jose"

const file = join(import.meta.dirname, "..", ".dev.vars")
if (!existsSync(file)) {
  const made = randomBytes(32).toString("hex")
  writeFileSync(file, `HEDDLE_JWT_SECRET="${made}"\n`, { mode: 0o600 })
}
const [, secret] = /^HEDDLE_JWT_SECRET\s*=\s*"?([^"\n]+)"?/m.exec(readFileSync(file, "utf8")) ?? []
if (secret === undefined) throw new Error(".dev.vars has no HEDDLE_JWT_SECRET")

const [principal = "me", ...owners] = process.argv.slice(2)
console.log(
  await new SignJWT({ owners: owners.length === 0 ? ["*"] : owners })
    .setProtectedHeader({ alg: "HS256" })
    .setSubject(principal)
    .setIssuedAt()
    .setExpirationTime("8h")
    .sign(new TextEncoder().encode(secret)),
)
