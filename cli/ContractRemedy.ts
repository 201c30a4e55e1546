/** The remedy that the contract tells with an error; for those about which a terminal has nothing to add. */
import * as Errors from "../contracts/Errors.ts"
import { type Described, toldOf } from "../contracts/Remedy.ts"

const classes = new Map<string, unknown>(Object.entries(Errors))

const isDescribed = (one: unknown): one is Described => typeof one === "function" && "ast" in one

/** What the caller can do, in a sentence; where to look, for an error that this version does not know. */
export const contractRemedy = (tag: string): string => {
  const one = classes.get(tag)
  return (isDescribed(one) ? toldOf(one)?.remedy : undefined) ?? "See docs/errors.md."
}
