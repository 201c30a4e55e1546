/**
 * Broken copies of the product: its text is edited as it is loaded, and the copy is loaded beside the product.
 *
 * - L1 A copy's modules have the copy's number in their addresses, and so has what they import: of the folders
 *   that were edited, of those that depend on them, and of the simulation, whose memory is then its own.
 * - L2 An edit whose text does not stand in its file exactly once, or whose file is never loaded, fails the
 *   load: a control that has grown stale is an error, not a pass.
 */
import { readFileSync } from "node:fs"
import { registerHooks } from "node:module"
import { fileURLToPath } from "node:url"
import type { runPlan } from "../Simulation.ts"
import type { Control, Edit } from "./Control.ts"

const root = new URL("../../", import.meta.url).href

interface Copy {
  readonly folders: ReadonlySet<string>
  readonly edits: ReadonlyArray<Edit>
  /** The files of which an edited text was loaded. */
  readonly edited: Set<string>
}

const copies: Array<Copy> = []

const mark = "?copy="

/** The copy that a module belongs to; none for the product itself. */
const copyOf = (url: string | undefined): number | undefined => {
  const at = url?.indexOf(mark) ?? -1
  return url === undefined || at < 0 ? undefined : Number(url.slice(at + mark.length))
}

/** From the root; none for what is not ours. */
const pathOf = (url: string): string | undefined => {
  const bare = url.split("?", 1)[0] ?? url
  const path = bare.startsWith(root) ? bare.slice(root.length) : undefined
  return path?.startsWith("node_modules/") === true ? undefined : path
}

const folderOf = (path: string): string => path.slice(0, path.indexOf("/"))

const below = new Set(["contracts", "platform"])
const above = ["contracts", "platform", "thread-actors", "owner-object", "client"]

/** What a copy has of its own. // L1 */
const foldersOf = (edits: ReadonlyArray<Edit>): ReadonlySet<string> => {
  const edited = edits.map(({ file }) => folderOf(file))
  return new Set(["testing", ...edited, ...(edited.some((one) => below.has(one)) ? above : [])])
}

/** The text with the edits of its file made. // L2 */
export const withEdits = (text: string, edits: ReadonlyArray<Edit>): string =>
  edits.reduce((changed, { file, find, replace }) => {
    const [before, ...rest] = changed.split(find)
    if (rest.length !== 1)
      throw new Error(`${file}: ${rest.length} times and not once: ${JSON.stringify(find)}`)
    return `${before}${replace}${rest.join()}`
  }, text)

let hooked = false

const hook = (): void => {
  if (hooked) return
  hooked = true
  registerHooks({
    resolve: (specifier, context, next) => {
      const resolved = next(specifier, context)
      const number = copyOf(context.parentURL)
      const path = pathOf(resolved.url)
      if (number === undefined || path === undefined || copyOf(resolved.url) !== undefined)
        return resolved
      const isOwn = copies[number]?.folders.has(folderOf(path)) === true
      return isOwn ? { ...resolved, url: `${resolved.url}${mark}${number}` } : resolved // L1
    },
    load: (url, context, next) => {
      const loaded = next(url, context)
      const copy = copies[copyOf(url) ?? -1]
      const path = pathOf(url)
      const edits = copy?.edits.filter(({ file }) => file === path) ?? []
      if (copy === undefined || path === undefined || edits.length === 0) return loaded
      copy.edited.add(path)
      return { ...loaded, source: withEdits(readFileSync(fileURLToPath(url), "utf8"), edits) }
    },
  })
}

/** Loads a broken copy. Gives how plans are run in it. */
export const loadBroken = async ({ edits, name }: Control): Promise<typeof runPlan> => {
  hook()
  const copy: Copy = { folders: foldersOf(edits), edits, edited: new Set() }
  const number = copies.push(copy) - 1
  const address = new URL(`../Simulation.ts${mark}${number}`, import.meta.url).href
  const loaded = (await import(address)) as { readonly runPlan: typeof runPlan }
  for (const { file } of edits)
    if (!copy.edited.has(file)) throw new Error(`${name}: ${file} is never loaded`) // L2
  return loaded.runPlan
}
