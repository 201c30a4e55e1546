/**
 * The documents of the demonstration: real files, read before anything is started.
 *
 * A file that cannot be used is reported by name and reason, and stops nothing: absent, no regular
 * file, empty, no UTF-8 text, or above the limit that admission would refuse.
 */
import { readdir, readFile, stat } from "node:fs/promises"
import { basename, join, relative, resolve } from "node:path"
import { Result } from "effect"
import { canonicalJson } from "../../contracts/CanonicalJson.ts"
import { defaultLimits } from "../../contracts/Limits.ts"

export interface DemoDocument {
  /** As it is shown: relative to the folder that the command was called in, if it is below it. */
  readonly name: string
  readonly text: string
}

export interface LeftOut {
  readonly name: string
  readonly reason: string
}

export interface Documents {
  readonly documents: ReadonlyArray<DemoDocument>
  readonly leftOut: ReadonlyArray<LeftOut>
}

/** Below this many READMEs the default takes other Markdown files of the packages too. */
export const defaultDocumentsMin = 100
/** What the default takes at most: with the scenes beside it, it ends within a minute on two cores. */
const defaultDocumentsMax = 120

/** What an editor shows as 200 KB may be more: quotes and line ends are two bytes each in JSON. */
const aboveTheLimit = `is above the limit: ${defaultLimits.inputBytes} bytes, measured on its JSON`

/** Checks what a file holds. Pure: `bytes` is its whole content. */
export const documentOf = (
  name: string,
  bytes: Uint8Array,
): Result.Result<DemoDocument, LeftOut> => {
  const leftOut = (reason: string) => Result.fail({ name, reason })
  if (bytes.length === 0) return leftOut("is empty")
  let text: string
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes)
  } catch {
    return leftOut("is not UTF-8 text")
  }
  if (text.includes("\0")) return leftOut("is not text: it contains NUL")
  if (text.trim() === "") return leftOut("is empty: nothing but white space")
  const input = canonicalJson(
    { name, text },
    { maxBytes: defaultLimits.inputBytes, maxNesting: defaultLimits.jsonNesting },
  )
  if (Result.isSuccess(input)) return Result.succeed({ name, text })
  return leftOut(
    input.failure._tag === "AdmissionLimitExceeded"
      ? aboveTheLimit
      : `cannot be an input: ${input.failure.reason}`,
  )
}

const errorCode = (error: unknown): string =>
  (error as NodeJS.ErrnoException | undefined)?.code ?? "unknown error"

const readOne = async (
  path: string,
  name: string,
): Promise<Result.Result<DemoDocument, LeftOut>> => {
  try {
    const found = await stat(path)
    if (!found.isFile()) return Result.fail({ name, reason: "is not a file" })
    // An encoded input is never shorter than its text: no need to read what cannot fit.
    if (found.size > defaultLimits.inputBytes) {
      return Result.fail({ name, reason: aboveTheLimit })
    }
    return documentOf(name, await readFile(path))
  } catch (error) {
    const code = errorCode(error)
    return Result.fail({
      name,
      reason: code === "ENOENT" ? "does not exist" : `cannot be read (${code})`,
    })
  }
}

/** Relative within the folder, whole outside of it. */
const nameOf = (path: string, from: string): string => {
  const name = relative(from, path)
  return name === "" || name.startsWith("..") ? path : name
}

/** Reads the files, in their order, each once. Relative paths start at `from`. */
export const readDocuments = async (
  paths: ReadonlyArray<string>,
  from: string,
): Promise<Documents> => {
  const documents: Array<DemoDocument> = []
  const leftOut: Array<LeftOut> = []
  const seen = new Set<string>()
  for (const path of paths.map((one) => resolve(from, one))) {
    const name = nameOf(path, from)
    if (seen.has(path)) {
      leftOut.push({ name, reason: "is named again: it is taken once" })
      continue
    }
    seen.add(path)
    const read = await readOne(path, name)
    if (Result.isSuccess(read)) documents.push(read.success)
    else leftOut.push(read.failure)
  }
  return { documents, leftOut }
}

const readmePattern = /^readme(?:\.md|\.markdown)?$/i

/** Which of these files the default takes, and what it says about it. Pure. */
export const chooseDefault = (
  markdownFiles: ReadonlyArray<string>,
): { readonly paths: ReadonlyArray<string>; readonly says: string } => {
  const sorted = markdownFiles.toSorted()
  const readmes = sorted.filter((path) => readmePattern.test(basename(path)))
  const enough = readmes.length >= defaultDocumentsMin
  const others = enough ? [] : sorted.filter((path) => !readmePattern.test(basename(path)))
  const paths = [...readmes, ...others].slice(0, defaultDocumentsMax)
  const kinds = enough ? "README files" : "README and other Markdown files"
  return { paths, says: `${paths.length} ${kinds} of the packages in node_modules` }
}

/** The Markdown files of the installed packages. */
export const markdownFilesOf = async (root: string): Promise<ReadonlyArray<string>> => {
  const entries = await readdir(join(root, "node_modules"), {
    recursive: true,
    withFileTypes: true,
  })
  return entries
    .filter((entry) => entry.isFile() && /\.(?:md|markdown)$/i.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
}
