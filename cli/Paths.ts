/** Flags that name a file, completed by shells as such, and told as people write them. */
import { relative, resolve } from "node:path"
import { Flag } from "effect/cli"

const standardInput = "-"

/** `-` is standard input. What is below the working folder is named from there. */
const asWritten = (absolute: string): string => {
  const here = process.cwd()
  if (absolute === resolve(here, standardInput)) return standardInput
  const below = relative(here, absolute)
  return below === "" || below.startsWith("..") ? absolute : below
}

export const pathFlag = (name: string) => Flag.Path(name).pipe(Flag.map(asWritten))
